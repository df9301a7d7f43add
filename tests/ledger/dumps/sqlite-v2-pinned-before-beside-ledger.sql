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
INSERT INTO "trident_applied" VALUES('payments','beside','beside','f4873716cb020124',1,'029bb8e2f673bf0e5107bacb93139f8a',1,1,0);
CREATE TABLE trident_commit (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, records BIGINT NOT NULL, dead_letters BIGINT NOT NULL,
        keys BIGINT NOT NULL, plan_ms BIGINT NOT NULL, process_ms BIGINT NOT NULL, commit_ms BIGINT NOT NULL,
        done_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_commit" VALUES('payments','f4873716cb020124',1,1,1,1,10,0,20,7,403,20,'2026-11-21T22:19:05.220+00:00');
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
INSERT INTO "trident_fence" VALUES('payments',1,'029bb8e2f673bf0e5107bacb93139f8a','host:6976',6976,'host',1795299542.52,'2026-11-21T22:19:04.705+00:00');
CREATE TABLE trident_heartbeat (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, beat_at VARCHAR NOT NULL, lease_seconds DOUBLE NOT NULL,
        released BOOLEAN NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_heartbeat" VALUES('payments',1,'2026-11-21T22:19:05.059+00:00',1.0,0);
CREATE TABLE trident_incarnation (
        topology VARCHAR NOT NULL, id VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, created_at VARCHAR NOT NULL,
        reason TEXT NOT NULL, starts TEXT, status TEXT NOT NULL,
        PRIMARY KEY (topology, id));
INSERT INTO "trident_incarnation" VALUES('payments','f4873716cb020124',0,'2026-11-21T22:19:04.712+00:00','first start','[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0}]','open');
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
INSERT INTO "trident_pin" VALUES('payments','f4873716cb020124',1,1,1,'{"txid":1,"attempt":1,"tries":1,"predecessor":0,"batch_time":"2026-11-21T22:19:04.787743Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}],"losses":[]}','[["s",{"edge":5885380360444206146,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":7246912006657356818,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":2399724101007431865,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]','[{"state":"beside","rows":10,"writes":[{"state":"beside","write_id":"3b25839c99424eb18d7619221b02fa92","digest":{"count":10,"low":14619509546,"high":26751360660,"xor":-2683829654674992142}}]},{"state":"away","rows":10,"writes":[{"state":"away","write_id":"a56742b122f94d35bc1465d071880a01","digest":{"count":10,"low":28475738985,"high":21751960128,"xor":8605845309644144701}}]}]','2026-11-21T22:19:05.208+00:00');
INSERT INTO "trident_pin" VALUES('payments','f4873716cb020124',2,2,1,'{"txid":2,"attempt":2,"tries":1,"predecessor":1,"batch_time":"2026-11-21T22:19:04.797226Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}],"losses":[]}','[["s",{"edge":7386411396789292346,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":7539447789663294148,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":1175498995647105236,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]','[{"state":"beside","rows":10,"writes":[{"state":"beside","write_id":"cecc89b2a5ea4cb8962fadb73f50852f","digest":{"count":10,"low":20560243866,"high":26662729118,"xor":7338869418913039932}}]},{"state":"away","rows":10,"writes":[{"state":"away","write_id":"516ea435aff54bbb939fece9f491788b","digest":{"count":10,"low":19016345833,"high":27341921198,"xor":-8071980630086663279}}]}]','2026-11-21T22:19:05.269+00:00');
CREATE TABLE trident_plan (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, predecessor BIGINT NOT NULL, status TEXT NOT NULL,
        batch_time VARCHAR NOT NULL, created_at VARCHAR NOT NULL, ranges TEXT NOT NULL, losses TEXT NOT NULL,
        PRIMARY KEY (topology, attempt));
INSERT INTO "trident_plan" VALUES('payments',1,'f4873716cb020124',1,1,1,0,'done','2026-11-21T22:19:04.787743+00:00','2026-11-21T22:19:04.793+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',2,'f4873716cb020124',2,1,1,1,'live','2026-11-21T22:19:04.797226+00:00','2026-11-21T22:19:04.806+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',3,'f4873716cb020124',3,1,1,2,'live','2026-11-21T22:19:04.812207+00:00','2026-11-21T22:19:04.812+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":8,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',4,'f4873716cb020124',4,1,1,3,'live','2026-11-21T22:19:05.224782+00:00','2026-11-21T22:19:05.227+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}]','[]');
CREATE TABLE trident_progress (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, done BIGINT NOT NULL, done_attempt BIGINT NOT NULL,
        pinned BIGINT, pinned_attempt BIGINT, last_txid BIGINT NOT NULL, last_attempt BIGINT NOT NULL, reset_to TEXT, undoing BIGINT, held BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (topology));
INSERT INTO "trident_progress" VALUES('payments','f4873716cb020124',1,1,2,2,4,4,NULL,NULL,0);
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
INSERT INTO "trident_schema" VALUES(1,'2026-11-21T22:19:04.694+00:00');
INSERT INTO "trident_schema" VALUES(2,'2026-11-21T22:19:04.696+00:00');
CREATE TABLE "trident_staging_beside" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',1356075631658034951,'a0',1,1);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',-3326172170150779682,'a7',1,2);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',-5837968783672722016,'a3',1,3);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',-807338737931382494,'a10',1,4);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',-4717577967404289109,'a1',1,1);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',-4300510018617003500,'a8',1,2);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',-6758204491157233504,'a4',1,3);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',8788032020045390390,'a2',1,1);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',6554785084393420983,'a9',1,2);
INSERT INTO "trident_staging_beside" VALUES(1,1,'3b25839c99424eb18d7619221b02fa92',-5182109910309812425,'a5',1,3);
INSERT INTO "trident_staging_beside" VALUES(3,3,'3b598b8e448e47beb6c44ffac28e9d34',-2192903318743026057,'a1',1,9);
INSERT INTO "trident_staging_beside" VALUES(3,3,'3b598b8e448e47beb6c44ffac28e9d34',5098802495396689933,'a8',1,10);
INSERT INTO "trident_staging_beside" VALUES(3,3,'3b598b8e448e47beb6c44ffac28e9d34',-8188145063994900476,'a4',1,11);
INSERT INTO "trident_staging_beside" VALUES(3,3,'3b598b8e448e47beb6c44ffac28e9d34',7326816899122610781,'a0',2,19);
INSERT INTO "trident_staging_beside" VALUES(3,3,'3b598b8e448e47beb6c44ffac28e9d34',-3899991384047627895,'a10',1,7);
INSERT INTO "trident_staging_beside" VALUES(3,3,'3b598b8e448e47beb6c44ffac28e9d34',5818245969089100540,'a6',1,8);
INSERT INTO "trident_staging_beside" VALUES(3,3,'3b598b8e448e47beb6c44ffac28e9d34',3625579421194319959,'a2',1,9);
INSERT INTO "trident_staging_beside" VALUES(3,3,'3b598b8e448e47beb6c44ffac28e9d34',3215059653548344614,'a7',1,8);
INSERT INTO "trident_staging_beside" VALUES(3,3,'3b598b8e448e47beb6c44ffac28e9d34',-8317200342969813575,'a3',1,9);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',-7812846582774583551,'a6',1,5);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',1118965511813062309,'a2',1,6);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',-3857092619056255856,'a9',1,7);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',-1576974881558802655,'a5',1,8);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',-2098659445894899093,'a0',1,4);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',-2536654656506868529,'a7',1,5);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',-9168067939268995034,'a3',1,6);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',-5562456550610625394,'a1',1,4);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',-6962312074748214084,'a8',1,5);
INSERT INTO "trident_staging_beside" VALUES(2,2,'cecc89b2a5ea4cb8962fadb73f50852f',5397696253406937753,'a4',1,6);
INSERT INTO "trident_staging_beside" VALUES(4,4,'6e071a1b699448cc862b7ba70a3676dc',2091658883520679813,'a7',1,13);
INSERT INTO "trident_staging_beside" VALUES(4,4,'6e071a1b699448cc862b7ba70a3676dc',2888201557478939497,'a3',1,14);
INSERT INTO "trident_staging_beside" VALUES(4,4,'6e071a1b699448cc862b7ba70a3676dc',-4105728386642337976,'a10',2,25);
INSERT INTO "trident_staging_beside" VALUES(4,4,'6e071a1b699448cc862b7ba70a3676dc',5509697947790614332,'a6',2,27);
INSERT INTO "trident_staging_beside" VALUES(4,4,'6e071a1b699448cc862b7ba70a3676dc',-4699209726086267217,'a9',1,10);
INSERT INTO "trident_staging_beside" VALUES(4,4,'6e071a1b699448cc862b7ba70a3676dc',3141518323731557941,'a5',1,11);
INSERT INTO "trident_staging_beside" VALUES(4,4,'6e071a1b699448cc862b7ba70a3676dc',4354201918736869409,'a1',1,12);
INSERT INTO "trident_staging_beside" VALUES(4,4,'6e071a1b699448cc862b7ba70a3676dc',-6508952457693910119,'a2',1,12);
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
INSERT INTO "trident_state_fence" VALUES('payments',1,'029bb8e2f673bf0e5107bacb93139f8a');
CREATE TABLE trident_topology (
        name VARCHAR NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL, created_at VARCHAR NOT NULL,
        PRIMARY KEY (name));
INSERT INTO "trident_topology" VALUES('payments','f4873716cb020124','{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"beside":{"store":"sqlite","kind":"opaque","table":"beside","database":"ledger"},"away":{"store":"sqlite","kind":"opaque","table":"away","database":"own"}}}','2026-11-21T22:19:04.711+00:00');
CREATE UNIQUE INDEX trident_plan_live ON trident_plan (topology, txid) WHERE status = 'live';
CREATE INDEX trident_plan_txid ON trident_plan (topology, txid);
CREATE UNIQUE INDEX "trident_key_beside" ON "beside" ("account");
CREATE UNIQUE INDEX "trident_null_key_beside" ON "beside" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_beside" ON "trident_staging_beside" (trident_txid);
COMMIT;
