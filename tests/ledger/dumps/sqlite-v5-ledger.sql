BEGIN TRANSACTION;
CREATE TABLE "balances" ("account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_n" bigint CHECK (typeof("previous_n") IN ('integer', 'null') AND "previous_n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_total" bigint CHECK (typeof("previous_total") IN ('integer', 'null') AND "previous_total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_txid" bigint CHECK (typeof("previous_txid") IN ('integer', 'null') AND "previous_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "txid" bigint NOT NULL CHECK (typeof("txid") IN ('integer', 'null') AND "txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "balances" VALUES('a0',5,50,3,12,3,5);
INSERT INTO "balances" VALUES('a7',4,47,3,23,3,5);
INSERT INTO "balances" VALUES('a3',4,32,2,9,2,3);
INSERT INTO "balances" VALUES('a10',4,36,3,26,3,4);
INSERT INTO "balances" VALUES('a1',4,37,2,5,2,4);
INSERT INTO "balances" VALUES('a8',4,41,2,7,2,5);
INSERT INTO "balances" VALUES('a4',4,45,2,9,2,5);
INSERT INTO "balances" VALUES('a2',5,45,3,16,3,4);
INSERT INTO "balances" VALUES('a9',5,50,4,37,4,5);
INSERT INTO "balances" VALUES('a5',5,55,4,41,4,5);
INSERT INTO "balances" VALUES('a6',4,40,3,29,3,4);
CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL, row_count bigint, relation text,
            PRIMARY KEY (topology, state));
INSERT INTO "trident_applied" VALUES('payments','balances','balances','673758f81be74a90',1,'18d524e5457e312737e5baa87e024cd2',5,5,0,11,NULL);
CREATE TABLE trident_commit (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, records BIGINT NOT NULL, dead_letters BIGINT NOT NULL,
        keys BIGINT NOT NULL, plan_ms BIGINT NOT NULL, process_ms BIGINT NOT NULL, commit_ms BIGINT NOT NULL,
        done_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_commit" VALUES('payments','673758f81be74a90',1,1,1,1,10,0,20,3,256,15,'2026-11-22T19:09:56.294+00:00');
INSERT INTO "trident_commit" VALUES('payments','673758f81be74a90',2,2,1,1,10,1,18,4,5,8,'2026-11-22T19:09:56.319+00:00');
INSERT INTO "trident_commit" VALUES('payments','673758f81be74a90',3,3,1,1,10,0,12,4,4,7,'2026-11-22T19:09:56.338+00:00');
INSERT INTO "trident_commit" VALUES('payments','673758f81be74a90',4,4,1,1,10,0,12,3,2,8,'2026-11-22T19:09:56.354+00:00');
CREATE TABLE trident_dead_letter (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, spout VARCHAR NOT NULL,
        topic VARCHAR NOT NULL, partition BIGINT NOT NULL, record_offset BIGINT NOT NULL, attempt BIGINT NOT NULL,
        record_timestamp BIGINT, reason TEXT NOT NULL, record_key BLOB, record_value BLOB,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset));
INSERT INTO "trident_dead_letter" VALUES('payments','673758f81be74a90',2,'s','t',1,4,2,NULL,'unreadable',NULL,X'7B','2026-11-22T19:09:56.313+00:00');
INSERT INTO "trident_dead_letter" VALUES('payments','673758f81be74a90',5,'s','t',2,14,5,NULL,'unreadable',NULL,X'7B','2026-11-22T19:09:56.363+00:00');
CREATE TABLE trident_decision (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, decided_by TEXT NOT NULL,
        decided_at VARCHAR NOT NULL, finished_at VARCHAR, void BOOLEAN NOT NULL DEFAULT FALSE,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_diverted (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, state VARCHAR NOT NULL,
        number BIGINT NOT NULL, attempt BIGINT NOT NULL, staged_row TEXT NOT NULL, diverted_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, state, number));
CREATE TABLE trident_done_plan (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        ranges TEXT NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_done_plan" VALUES('payments','673758f81be74a90',4,4,'{"changed":[["s","t","id",null,[[0,16,20],[1,9,12],[2,9,12]]]]}');
CREATE TABLE trident_fence (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, token TEXT NOT NULL, holder TEXT NOT NULL,
        session_pid BIGINT, session_host TEXT, session_started DOUBLE, raised_at VARCHAR NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_fence" VALUES('payments',1,'18d524e5457e312737e5baa87e024cd2','host-a:11943',11943,'host-a',1795374594.28,'2026-11-22T19:09:55.946+00:00');
CREATE TABLE trident_heartbeat (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, beat_at VARCHAR NOT NULL, lease_seconds DOUBLE NOT NULL,
        released BOOLEAN NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_heartbeat" VALUES('payments',1,'2026-11-22T19:09:55.946+00:00',2.0,1);
CREATE TABLE trident_incarnation (
        topology VARCHAR NOT NULL, id VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, created_at VARCHAR NOT NULL,
        reason TEXT NOT NULL, starts TEXT, status TEXT NOT NULL, births TEXT,
        PRIMARY KEY (topology, id));
INSERT INTO "trident_incarnation" VALUES('payments','673758f81be74a90',0,'2026-11-22T19:09:56.004+00:00','first start','[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0,"epoch":null}]','open','[{"state":"balances","txid":0,"with_rows":false},{"state":"totals","txid":0,"with_rows":false}]');
CREATE TABLE trident_loss (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, spout VARCHAR NOT NULL, topic VARCHAR NOT NULL,
        partition BIGINT NOT NULL, start_offset BIGINT NOT NULL, stop_offset BIGINT NOT NULL, incarnation TEXT NOT NULL,
        txid BIGINT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, recorded_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset));
INSERT INTO "trident_loss" VALUES('payments',3,'s','t',0,8,12,'673758f81be74a90',3,'done','offsets were gone before they could be read','2026-11-22T19:09:56.323+00:00');
CREATE TABLE trident_pin (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        epoch BIGINT NOT NULL, plan TEXT NOT NULL, manifests TEXT NOT NULL, states TEXT NOT NULL,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_pin" VALUES('payments','673758f81be74a90',1,1,1,'{}','[["s",{"edge":7455276941830931001,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":3056673466176502477,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":7931655703194158952,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"02958af6875642b290bdf96c21bb81e9","digest":{"count":10,"low":23492695692,"high":23147277341,"xor":1426954109684221752}}]}]','2026-11-22T19:09:56.282+00:00');
INSERT INTO "trident_pin" VALUES('payments','673758f81be74a90',2,2,1,'{}','[["s",{"edge":6684456886481931500,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":1970378927221273084,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":3048615244325874751,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":9,"writes":[]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"87f034e92d12497eae9e440fb650d21e","digest":{"count":9,"low":20124324891,"high":21990187070,"xor":-6024053395453263323}}]}]','2026-11-22T19:09:56.313+00:00');
INSERT INTO "trident_pin" VALUES('payments','673758f81be74a90',3,3,1,'{}','[["s",{"edge":4375026525991443160,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":1671215236053476089,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":132385763082575756,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"92f492b096344993b2b74e1693e6a3ee","digest":{"count":6,"low":8944878687,"high":16091015431,"xor":458859821132143423}}]}]','2026-11-22T19:09:56.332+00:00');
INSERT INTO "trident_pin" VALUES('payments','673758f81be74a90',4,4,1,'{}','[["s",{"edge":1771470115518612031,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":4094921483685496565,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":3917510393155315851,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"9c0524d2fde14338af7e6a32fe9b5b57","digest":{"count":6,"low":13412875826,"high":7360654948,"xor":-4937820218637979570}}]}]','2026-11-22T19:09:56.349+00:00');
INSERT INTO "trident_pin" VALUES('payments','673758f81be74a90',5,5,1,'{}','[["s",{"edge":7551448581966242759,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":7557648574343482875,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":6608412984169999695,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"a1225af367664a12ac600b1009cdb04b","digest":{"count":6,"low":8292597612,"high":9122467176,"xor":548010984658626992}}]}]','2026-11-22T19:09:56.363+00:00');
CREATE TABLE trident_plan (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, predecessor BIGINT NOT NULL, status TEXT NOT NULL,
        batch_time VARCHAR NOT NULL, created_at VARCHAR NOT NULL, ranges TEXT NOT NULL, losses TEXT NOT NULL, timers TEXT NOT NULL DEFAULT '[]', received TEXT NOT NULL DEFAULT '[]', diverts TEXT NOT NULL DEFAULT '[]',
        PRIMARY KEY (topology, attempt));
INSERT INTO "trident_plan" VALUES('payments',1,'673758f81be74a90',1,1,1,0,'done','2026-11-22T19:09:56.016528+00:00','2026-11-22T19:09:56.018+00:00','{"changed":[["s","t","id",null,[[0,0,4],[1,0,3],[2,0,3]]]]}','[]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',2,'673758f81be74a90',2,1,1,1,'done','2026-11-22T19:09:56.301127+00:00','2026-11-22T19:09:56.303+00:00','{"changed":[["s","t","id",null,[[0,4,8],[1,3,6],[2,3,6]]]]}','[]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',3,'673758f81be74a90',3,1,1,2,'done','2026-11-22T19:09:56.321238+00:00','2026-11-22T19:09:56.322+00:00','{"changed":[["s","t","id",null,[[0,12,16],[1,6,9],[2,6,9]]]]}','[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',4,'673758f81be74a90',4,1,1,3,'done','2026-11-22T19:09:56.340848+00:00','2026-11-22T19:09:56.342+00:00','{"changed":[["s","t","id",null,[[0,16,20],[1,9,12],[2,9,12]]]]}','[]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',5,'673758f81be74a90',5,1,1,4,'live','2026-11-22T19:09:56.356590+00:00','2026-11-22T19:09:56.358+00:00','{"changed":[["s","t","id",null,[[0,20,24],[1,12,15],[2,12,15]]]]}','[]','[]','[]','[]');
CREATE TABLE trident_progress (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, done BIGINT NOT NULL, done_attempt BIGINT NOT NULL,
        pinned BIGINT, pinned_attempt BIGINT, last_txid BIGINT NOT NULL, last_attempt BIGINT NOT NULL, reset_to TEXT, undoing BIGINT, held BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (topology));
INSERT INTO "trident_progress" VALUES('payments','673758f81be74a90',4,4,5,5,5,5,NULL,NULL,0);
CREATE TABLE trident_refusal (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
        refused_at VARCHAR NOT NULL, settled_by TEXT, settled_at VARCHAR,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_reset (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, states TEXT NOT NULL,
        start TEXT, epoch BIGINT NOT NULL, decided_at VARCHAR NOT NULL, finished_at VARCHAR, streams TEXT, begins TEXT, stood TEXT, foreign_incarnations TEXT,
        PRIMARY KEY (topology, incarnation));
CREATE TABLE trident_schema (version BIGINT NOT NULL, applied_at VARCHAR NOT NULL, PRIMARY KEY (version));
INSERT INTO "trident_schema" VALUES(1,'2026-11-22T19:09:55.921+00:00');
INSERT INTO "trident_schema" VALUES(2,'2026-11-22T19:09:55.922+00:00');
INSERT INTO "trident_schema" VALUES(3,'2026-11-22T19:09:55.923+00:00');
INSERT INTO "trident_schema" VALUES(4,'2026-11-22T19:09:55.925+00:00');
INSERT INTO "trident_schema" VALUES(5,'2026-11-22T19:09:55.926+00:00');
CREATE TABLE "trident_staging_balances" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
CREATE TABLE trident_state_schema (version BIGINT NOT NULL, applied_at VARCHAR NOT NULL, PRIMARY KEY (version));
INSERT INTO "trident_state_schema" VALUES(1,'2026-11-22T19:09:55.985+00:00');
INSERT INTO "trident_state_schema" VALUES(2,'2026-11-22T19:09:55.986+00:00');
CREATE TABLE trident_topology (
        name VARCHAR NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL, created_at VARCHAR NOT NULL,
        PRIMARY KEY (name));
INSERT INTO "trident_topology" VALUES('payments','673758f81be74a90','{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"sqlite","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"sqlite","kind":"opaque","table":"totals","database":"own"}}}','2026-11-22T19:09:56.003+00:00');
CREATE UNIQUE INDEX trident_plan_live ON trident_plan (topology, txid) WHERE status = 'live';
CREATE INDEX trident_plan_open ON trident_plan (topology, incarnation, txid) WHERE status = 'live';
CREATE INDEX trident_plan_txid ON trident_plan (topology, txid, attempt);
CREATE INDEX trident_pin_txid ON trident_pin (topology, txid);
CREATE INDEX trident_commit_txid ON trident_commit (topology, txid);
CREATE UNIQUE INDEX "trident_key_balances" ON "balances" ("account");
CREATE UNIQUE INDEX "trident_null_key_balances" ON "balances" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_balances" ON "trident_staging_balances" (trident_txid);
COMMIT;
