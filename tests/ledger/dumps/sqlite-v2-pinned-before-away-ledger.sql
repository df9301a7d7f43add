BEGIN TRANSACTION;
CREATE TABLE "beside" ("account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_n" bigint CHECK (typeof("previous_n") IN ('integer', 'null') AND "previous_n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_total" bigint CHECK (typeof("previous_total") IN ('integer', 'null') AND "previous_total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_txid" bigint CHECK (typeof("previous_txid") IN ('integer', 'null') AND "previous_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "txid" bigint NOT NULL CHECK (typeof("txid") IN ('integer', 'null') AND "txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "beside" VALUES('a0',1,1,NULL,NULL,NULL,1);
INSERT INTO "beside" VALUES('a7',1,2,NULL,NULL,NULL,1);
INSERT INTO "beside" VALUES('a3',1,3,NULL,NULL,NULL,1);
INSERT INTO "beside" VALUES('a10',1,4,NULL,NULL,NULL,1);
INSERT INTO "beside" VALUES('a1',1,1,NULL,NULL,NULL,1);
INSERT INTO "beside" VALUES('a8',1,2,NULL,NULL,NULL,1);
INSERT INTO "beside" VALUES('a4',1,3,NULL,NULL,NULL,1);
INSERT INTO "beside" VALUES('a2',1,1,NULL,NULL,NULL,1);
INSERT INTO "beside" VALUES('a9',1,2,NULL,NULL,NULL,1);
INSERT INTO "beside" VALUES('a5',1,3,NULL,NULL,NULL,1);
CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL,
            PRIMARY KEY (topology, state));
INSERT INTO "trident_applied" VALUES('payments','beside','beside','cf74a5c4dbfbf4ff',1,'3ac8e8a8bbc834443b4f242397cacf3f',1,1,0);
CREATE TABLE trident_commit (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, records BIGINT NOT NULL, dead_letters BIGINT NOT NULL,
        keys BIGINT NOT NULL, plan_ms BIGINT NOT NULL, process_ms BIGINT NOT NULL, commit_ms BIGINT NOT NULL,
        done_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_commit" VALUES('payments','cf74a5c4dbfbf4ff',1,1,1,1,10,0,20,13,754,40,'2026-11-21T22:19:27.804+00:00');
CREATE TABLE trident_dead_letter (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, spout VARCHAR NOT NULL,
        topic VARCHAR NOT NULL, partition BIGINT NOT NULL, record_offset BIGINT NOT NULL, attempt BIGINT NOT NULL,
        record_timestamp BIGINT, reason TEXT NOT NULL, record_key BLOB, record_value BLOB,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset));
CREATE TABLE trident_decision (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, decided_by TEXT NOT NULL,
        decided_at VARCHAR NOT NULL, finished_at VARCHAR,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_diverted (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, state VARCHAR NOT NULL,
        number BIGINT NOT NULL, attempt BIGINT NOT NULL, staged_row TEXT NOT NULL, diverted_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, state, number));
CREATE TABLE trident_fence (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, token TEXT NOT NULL, holder TEXT NOT NULL,
        session_pid BIGINT, session_host TEXT, session_started DOUBLE, raised_at VARCHAR NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_fence" VALUES('payments',1,'3ac8e8a8bbc834443b4f242397cacf3f','host:8078',8078,'host',1795299563.56,'2026-11-21T22:19:26.878+00:00');
CREATE TABLE trident_heartbeat (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, beat_at VARCHAR NOT NULL, lease_seconds DOUBLE NOT NULL,
        released BOOLEAN NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_heartbeat" VALUES('payments',1,'2026-11-21T22:19:27.591+00:00',1.0,0);
CREATE TABLE trident_incarnation (
        topology VARCHAR NOT NULL, id VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, created_at VARCHAR NOT NULL,
        reason TEXT NOT NULL, starts TEXT, status TEXT NOT NULL,
        PRIMARY KEY (topology, id));
INSERT INTO "trident_incarnation" VALUES('payments','cf74a5c4dbfbf4ff',0,'2026-11-21T22:19:26.885+00:00','first start','[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0}]','open');
CREATE TABLE trident_loss (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, spout VARCHAR NOT NULL, topic VARCHAR NOT NULL,
        partition BIGINT NOT NULL, start_offset BIGINT NOT NULL, stop_offset BIGINT NOT NULL, incarnation TEXT NOT NULL,
        txid BIGINT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, recorded_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset));
CREATE TABLE trident_pin (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        epoch BIGINT NOT NULL, plan TEXT NOT NULL, manifests TEXT NOT NULL, states TEXT NOT NULL,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_pin" VALUES('payments','cf74a5c4dbfbf4ff',1,1,1,'{"txid":1,"attempt":1,"tries":1,"predecessor":0,"batch_time":"2026-11-21T22:19:26.985890Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}],"losses":[]}','[["s",{"edge":3231122432649776281,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":7771341255884538920,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":7379904314485280670,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]','[{"state":"beside","rows":10,"writes":[{"state":"beside","write_id":"3a98fe376f3c43229283f2b7851dff5a","digest":{"count":10,"low":24724098879,"high":20917985767,"xor":-3371517634317759443}}]},{"state":"away","rows":10,"writes":[{"state":"away","write_id":"5bd3452bb6044fbfaf224d4f74fafbc4","digest":{"count":10,"low":21839990878,"high":17353195612,"xor":4030535351933680794}}]}]','2026-11-21T22:19:27.767+00:00');
INSERT INTO "trident_pin" VALUES('payments','cf74a5c4dbfbf4ff',2,2,1,'{"txid":2,"attempt":2,"tries":1,"predecessor":1,"batch_time":"2026-11-21T22:19:26.999679Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}],"losses":[]}','[["s",{"edge":2512286129096314766,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":119897459286798063,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":1338647783702179759,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]','[{"state":"beside","rows":10,"writes":[{"state":"beside","write_id":"32e27c8d3d144e0c8edaec354e450359","digest":{"count":10,"low":18303100869,"high":20785141735,"xor":6196362431521995721}}]},{"state":"away","rows":10,"writes":[{"state":"away","write_id":"4a4acbb2d7864949bccb74a3de8345ee","digest":{"count":10,"low":12251231557,"high":20812910904,"xor":7866228346165878805}}]}]','2026-11-21T22:19:27.822+00:00');
CREATE TABLE trident_plan (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, predecessor BIGINT NOT NULL, status TEXT NOT NULL,
        batch_time VARCHAR NOT NULL, created_at VARCHAR NOT NULL, ranges TEXT NOT NULL, losses TEXT NOT NULL,
        PRIMARY KEY (topology, attempt));
INSERT INTO "trident_plan" VALUES('payments',1,'cf74a5c4dbfbf4ff',1,1,1,0,'done','2026-11-21T22:19:26.985890+00:00','2026-11-21T22:19:26.993+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',2,'cf74a5c4dbfbf4ff',2,1,1,1,'live','2026-11-21T22:19:26.999679+00:00','2026-11-21T22:19:27.001+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',3,'cf74a5c4dbfbf4ff',3,1,1,2,'live','2026-11-21T22:19:27.012895+00:00','2026-11-21T22:19:27.014+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":8,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',4,'cf74a5c4dbfbf4ff',4,1,1,3,'live','2026-11-21T22:19:27.820689+00:00','2026-11-21T22:19:27.824+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}]','[]');
CREATE TABLE trident_progress (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, done BIGINT NOT NULL, done_attempt BIGINT NOT NULL,
        pinned BIGINT, pinned_attempt BIGINT, last_txid BIGINT NOT NULL, last_attempt BIGINT NOT NULL, reset_to TEXT, undoing BIGINT, held BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (topology));
INSERT INTO "trident_progress" VALUES('payments','cf74a5c4dbfbf4ff',1,1,2,2,4,4,NULL,NULL,0);
CREATE TABLE trident_refusal (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
        refused_at VARCHAR NOT NULL, settled_by TEXT, settled_at VARCHAR,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_reset (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, states TEXT NOT NULL,
        start TEXT, epoch BIGINT NOT NULL, decided_at VARCHAR NOT NULL, finished_at VARCHAR,
        PRIMARY KEY (topology, incarnation));
CREATE TABLE trident_schema (
	version BIGINT NOT NULL, 
	applied_at VARCHAR NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "trident_schema" VALUES(1,'2026-11-21T22:19:26.860+00:00');
INSERT INTO "trident_schema" VALUES(2,'2026-11-21T22:19:26.862+00:00');
CREATE TABLE "trident_staging_beside" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',189987639353696046,'a0',1,1);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',-8286895084540475936,'a7',1,2);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',8191970702115878812,'a3',1,3);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',-3787578062566466668,'a10',1,4);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',-3298781196496484193,'a1',1,1);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',-8596638327035387547,'a8',1,2);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',8838145187887802876,'a4',1,3);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',8356899451182622734,'a2',1,1);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',-7404317284174932984,'a9',1,2);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3a98fe376f3c43229283f2b7851dff5a',3405551397908563691,'a5',1,3);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',5090833002644606658,'a6',1,5);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',3773267232297715841,'a2',1,6);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',-5150525944390600010,'a9',1,7);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',6391251838825996496,'a5',1,8);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',-4521748346656624948,'a0',1,4);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',-2320813587971041781,'a7',1,5);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',7179285047405222957,'a3',1,6);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',5577463301610332793,'a1',1,4);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',2506774115757885534,'a8',1,5);
INSERT INTO "trident_staging_beside" VALUES(2,2,'32e27c8d3d144e0c8edaec354e450359',-3041258941508900575,'a4',1,6);
INSERT INTO "trident_staging_beside" VALUES(3,3,'7838ea729e9542e599fc1f8645b20922',-459216367056649009,'a1',1,9);
INSERT INTO "trident_staging_beside" VALUES(3,3,'7838ea729e9542e599fc1f8645b20922',3704449488975175653,'a8',1,10);
INSERT INTO "trident_staging_beside" VALUES(3,3,'7838ea729e9542e599fc1f8645b20922',-6493698771812450253,'a4',1,11);
INSERT INTO "trident_staging_beside" VALUES(3,3,'7838ea729e9542e599fc1f8645b20922',-8241217390059697930,'a0',2,19);
INSERT INTO "trident_staging_beside" VALUES(3,3,'7838ea729e9542e599fc1f8645b20922',-4713599395101852635,'a10',1,7);
INSERT INTO "trident_staging_beside" VALUES(3,3,'7838ea729e9542e599fc1f8645b20922',-8329940596913183837,'a6',1,8);
INSERT INTO "trident_staging_beside" VALUES(3,3,'7838ea729e9542e599fc1f8645b20922',870551790750161884,'a2',1,9);
INSERT INTO "trident_staging_beside" VALUES(3,3,'7838ea729e9542e599fc1f8645b20922',-7604902411573934265,'a7',1,8);
INSERT INTO "trident_staging_beside" VALUES(3,3,'7838ea729e9542e599fc1f8645b20922',-8758411541031859681,'a3',1,9);
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
INSERT INTO "trident_state_fence" VALUES('payments',1,'3ac8e8a8bbc834443b4f242397cacf3f');
CREATE TABLE trident_topology (
        name VARCHAR NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL, created_at VARCHAR NOT NULL,
        PRIMARY KEY (name));
INSERT INTO "trident_topology" VALUES('payments','cf74a5c4dbfbf4ff','{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"beside":{"store":"sqlite","kind":"opaque","table":"beside","database":"ledger"},"away":{"store":"sqlite","kind":"opaque","table":"away","database":"own"}}}','2026-11-21T22:19:26.884+00:00');
CREATE UNIQUE INDEX trident_plan_live ON trident_plan (topology, txid) WHERE status = 'live';
CREATE INDEX trident_plan_txid ON trident_plan (topology, txid);
CREATE UNIQUE INDEX "trident_key_beside" ON "beside" ("account");
CREATE UNIQUE INDEX "trident_null_key_beside" ON "beside" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_beside" ON "trident_staging_beside" (trident_txid);
COMMIT;
