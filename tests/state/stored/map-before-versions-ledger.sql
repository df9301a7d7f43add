PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE trident_schema (
	version BIGINT NOT NULL, 
	applied_at VARCHAR NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO trident_schema VALUES(1,'2026-11-22T01:49:08.323+00:00');
INSERT INTO trident_schema VALUES(2,'2026-11-22T01:49:08.329+00:00');
CREATE TABLE trident_topology (
        name VARCHAR NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL, created_at VARCHAR NOT NULL,
        PRIMARY KEY (name));
INSERT INTO trident_topology VALUES('payments','a65efd36db78e8c8','{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"backing map","kind":"opaque","map":"JournalMap"}}}','2026-11-22T01:49:08.393+00:00');
CREATE TABLE trident_fence (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, token TEXT NOT NULL, holder TEXT NOT NULL,
        session_pid BIGINT, session_host TEXT, session_started DOUBLE, raised_at VARCHAR NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO trident_fence VALUES('payments',1,'a8e56f0b6e76a604c3f30b8cc9401f49','vm:6742',6742,'vm',1795312145.6400001049,'2026-11-22T01:49:08.368+00:00');
CREATE TABLE trident_heartbeat (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, beat_at VARCHAR NOT NULL, lease_seconds DOUBLE NOT NULL,
        released BOOLEAN NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO trident_heartbeat VALUES('payments',1,'2026-11-22T01:49:09.300+00:00',2.0,1);
CREATE TABLE trident_incarnation (
        topology VARCHAR NOT NULL, id VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, created_at VARCHAR NOT NULL,
        reason TEXT NOT NULL, starts TEXT, status TEXT NOT NULL,
        PRIMARY KEY (topology, id));
INSERT INTO trident_incarnation VALUES('payments','a65efd36db78e8c8',0,'2026-11-22T01:49:08.394+00:00','first start','[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0}]','open');
CREATE TABLE trident_progress (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, done BIGINT NOT NULL, done_attempt BIGINT NOT NULL,
        pinned BIGINT, pinned_attempt BIGINT, last_txid BIGINT NOT NULL, last_attempt BIGINT NOT NULL, reset_to TEXT, undoing BIGINT, held BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (topology));
INSERT INTO trident_progress VALUES('payments','a65efd36db78e8c8',2,2,NULL,NULL,2,2,NULL,NULL,0);
CREATE TABLE trident_plan (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, predecessor BIGINT NOT NULL, status TEXT NOT NULL,
        batch_time VARCHAR NOT NULL, created_at VARCHAR NOT NULL, ranges TEXT NOT NULL, losses TEXT NOT NULL,
        PRIMARY KEY (topology, attempt));
INSERT INTO trident_plan VALUES('payments',1,'a65efd36db78e8c8',1,1,1,0,'done','2026-11-22T01:49:08.523660+00:00','2026-11-22T01:49:08.549+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":10}}]','[]');
INSERT INTO trident_plan VALUES('payments',2,'a65efd36db78e8c8',2,1,1,1,'done','2026-11-22T01:49:09.404072+00:00','2026-11-22T01:49:09.413+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":10,"stop":12}}]','[]');
CREATE TABLE trident_pin (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        epoch BIGINT NOT NULL, plan TEXT NOT NULL, manifests TEXT NOT NULL, states TEXT NOT NULL,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO trident_pin VALUES('payments','a65efd36db78e8c8',1,1,1,'{"txid":1,"attempt":1,"tries":1,"predecessor":0,"batch_time":"2026-11-22T01:49:08.523660Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":10}}],"losses":[]}','[["s",{"edge":2629695951098394333,"id":{"topic":"t","partition":0},"position":10,"digest":{"count":10,"low":23866226439,"high":21255033402,"xor":-5226768231757131537},"size_bytes":100,"newest":null}]]','[{"state":"balances","rows":3,"writes":[{"state":"balances","write_id":"52fbcb5877fc4bdfaaf4fd3766775e05","digest":{"count":3,"low":7074888642,"high":7709586960,"xor":2502763655069532874}}]}]','2026-11-22T01:49:09.406+00:00');
INSERT INTO trident_pin VALUES('payments','a65efd36db78e8c8',2,2,1,'{"txid":2,"attempt":2,"tries":1,"predecessor":1,"batch_time":"2026-11-22T01:49:09.404072Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":10,"stop":12}}],"losses":[]}','[["s",{"edge":8549683269326828549,"id":{"topic":"t","partition":0},"position":12,"digest":{"count":2,"low":7466459556,"high":3650765014,"xor":-4244151355238720488},"size_bytes":20,"newest":null}]]','[{"state":"balances","rows":2,"writes":[{"state":"balances","write_id":"a6d76b6f20fb491f9962e9923c6983bb","digest":{"count":2,"low":5292969267,"high":4119785918,"xor":-761444526874971981}}]}]','2026-11-22T01:49:09.425+00:00');
CREATE TABLE trident_commit (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, records BIGINT NOT NULL, dead_letters BIGINT NOT NULL,
        keys BIGINT NOT NULL, plan_ms BIGINT NOT NULL, process_ms BIGINT NOT NULL, commit_ms BIGINT NOT NULL,
        done_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO trident_commit VALUES('payments','a65efd36db78e8c8',1,1,1,1,10,0,3,33,843,12,'2026-11-22T01:49:09.419+00:00');
INSERT INTO trident_commit VALUES('payments','a65efd36db78e8c8',2,2,1,1,2,0,2,12,2,4,'2026-11-22T01:49:09.428+00:00');
CREATE TABLE trident_loss (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, spout VARCHAR NOT NULL, topic VARCHAR NOT NULL,
        partition BIGINT NOT NULL, start_offset BIGINT NOT NULL, stop_offset BIGINT NOT NULL, incarnation TEXT NOT NULL,
        txid BIGINT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, recorded_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset));
CREATE TABLE trident_dead_letter (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, spout VARCHAR NOT NULL,
        topic VARCHAR NOT NULL, partition BIGINT NOT NULL, record_offset BIGINT NOT NULL, attempt BIGINT NOT NULL,
        record_timestamp BIGINT, reason TEXT NOT NULL, record_key BLOB, record_value BLOB,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset));
CREATE TABLE trident_reset (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, states TEXT NOT NULL,
        start TEXT, epoch BIGINT NOT NULL, decided_at VARCHAR NOT NULL, finished_at VARCHAR,
        PRIMARY KEY (topology, incarnation));
CREATE TABLE trident_refusal (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
        refused_at VARCHAR NOT NULL, settled_by TEXT, settled_at VARCHAR,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_decision (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, decided_by TEXT NOT NULL,
        decided_at VARCHAR NOT NULL, finished_at VARCHAR,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_diverted (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, state VARCHAR NOT NULL,
        number BIGINT NOT NULL, attempt BIGINT NOT NULL, staged_row TEXT NOT NULL, diverted_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, state, number));
CREATE TABLE trident_staged_blob (
	topology TEXT NOT NULL, 
	state TEXT NOT NULL, 
	txid BIGINT NOT NULL, 
	attempt BIGINT NOT NULL, 
	write_id TEXT NOT NULL, 
	payload BLOB NOT NULL, 
	PRIMARY KEY (write_id)
);
INSERT INTO trident_staged_blob VALUES('payments','balances',1,1,'52fbcb5877fc4bdfaaf4fd3766775e05',X'ffffffffe00000001000000000000a000c000600050008000a000000000104000c00000008000800000004000800000004000000030000008000000038000000040000009cffffff000001021000000018000000040000000000000005000000746f74616c000000d4ffffff0000000140000000ccffffff00000102100000001c0000000400000000000000010000006e00000008000c0008000700080000000000000140000000100014000800060007000c00000010001000000000000105100000001c0000000400000000000000070000006163636f756e7400040004000400000000000000fffffffff800000014000000000000000c0016000600050008000c000c0000000003040018000000480000000000000000000a0018000c00040008000a0000008c0000001000000003000000000000000000000007000000000000000000000000000000000000000000000000000000100000000000000010000000000000000600000000000000180000000000000000000000000000001800000000000000180000000000000030000000000000000000000000000000300000000000000018000000000000000000000003000000030000000000000000000000000000000300000000000000000000000000000003000000000000000000000000000000000000000200000004000000060000006130613161320000040000000000000003000000000000000300000000000000040000000000000003000000000000000300000000000000ffffffff00000000');
INSERT INTO trident_staged_blob VALUES('payments','balances',2,2,'a6d76b6f20fb491f9962e9923c6983bb',X'ffffffffe00000001000000000000a000c000600050008000a000000000104000c00000008000800000004000800000004000000030000008000000038000000040000009cffffff000001021000000018000000040000000000000005000000746f74616c000000d4ffffff0000000140000000ccffffff00000102100000001c0000000400000000000000010000006e00000008000c0008000700080000000000000140000000100014000800060007000c00000010001000000000000105100000001c0000000400000000000000070000006163636f756e7400040004000400000000000000fffffffff800000014000000000000000c0016000600050008000c000c0000000003040018000000380000000000000000000a0018000c00040008000a0000008c00000010000000020000000000000000000000070000000000000000000000000000000000000000000000000000000c00000000000000100000000000000004000000000000001800000000000000000000000000000018000000000000001000000000000000280000000000000000000000000000002800000000000000100000000000000000000000030000000200000000000000000000000000000002000000000000000000000000000000020000000000000000000000000000000000000002000000040000000000000061316132000000000100000000000000010000000000000001000000000000000100000000000000ffffffff00000000');
CREATE UNIQUE INDEX trident_plan_live ON trident_plan (topology, txid) WHERE status = 'live';
CREATE INDEX trident_plan_txid ON trident_plan (topology, txid);
COMMIT;
