BEGIN TRANSACTION;
CREATE TABLE "balances" ("account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_n" bigint CHECK (typeof("previous_n") IN ('integer', 'null') AND "previous_n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_total" bigint CHECK (typeof("previous_total") IN ('integer', 'null') AND "previous_total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_txid" bigint CHECK (typeof("previous_txid") IN ('integer', 'null') AND "previous_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "txid" bigint NOT NULL CHECK (typeof("txid") IN ('integer', 'null') AND "txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "balances" VALUES('a0',6,68,4,27,4,5);
INSERT INTO "balances" VALUES('a7',6,82,4,39,4,5);
INSERT INTO "balances" VALUES('a3',6,69,4,32,3,5);
INSERT INTO "balances" VALUES('a10',5,54,4,36,3,5);
INSERT INTO "balances" VALUES('a1',4,37,3,17,3,4);
INSERT INTO "balances" VALUES('a8',5,57,4,36,4,5);
INSERT INTO "balances" VALUES('a4',5,62,3,23,4,5);
INSERT INTO "balances" VALUES('a2',6,65,5,45,4,5);
INSERT INTO "balances" VALUES('a9',5,50,3,19,3,4);
INSERT INTO "balances" VALUES('a5',5,55,3,22,3,4);
INSERT INTO "balances" VALUES('a6',5,59,4,40,3,5);
CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL, row_count bigint, relation text, is_sink boolean NOT NULL DEFAULT FALSE,
            PRIMARY KEY (topology, state));
INSERT INTO "trident_applied" VALUES('payments','balances','balances','1174abec7c7b8315',1,'207df36eb87fa90dab51b2d3ead74ed7',5,5,0,11,NULL,0);
CREATE TABLE trident_command (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, id TEXT NOT NULL, incarnation TEXT NOT NULL,
        kind TEXT NOT NULL, arguments TEXT NOT NULL, given_by TEXT NOT NULL, given_at VARCHAR NOT NULL,
        within_seconds DOUBLE NOT NULL, epoch BIGINT, verdict TEXT, answer TEXT, answered_at VARCHAR,
        PRIMARY KEY (topology, number));
CREATE TABLE trident_commit (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, records BIGINT NOT NULL, dead_letters BIGINT NOT NULL,
        keys BIGINT NOT NULL, plan_ms BIGINT NOT NULL, process_ms BIGINT NOT NULL, commit_ms BIGINT NOT NULL,
        done_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_commit" VALUES('payments','1174abec7c7b8315',1,1,1,1,12,0,20,3,116,7,'2026-11-28T03:06:36.918+00:00');
INSERT INTO "trident_commit" VALUES('payments','1174abec7c7b8315',2,2,1,1,12,1,20,2,1,4,'2026-11-28T03:06:36.928+00:00');
INSERT INTO "trident_commit" VALUES('payments','1174abec7c7b8315',3,3,1,1,12,0,16,2,1,3,'2026-11-28T03:06:36.935+00:00');
INSERT INTO "trident_commit" VALUES('payments','1174abec7c7b8315',4,4,1,1,12,1,16,1,1,3,'2026-11-28T03:06:36.941+00:00');
CREATE TABLE trident_dead_letter (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, spout VARCHAR NOT NULL,
        topic VARCHAR NOT NULL, partition BIGINT NOT NULL, record_offset BIGINT NOT NULL, attempt BIGINT NOT NULL,
        record_timestamp BIGINT, reason TEXT NOT NULL, record_key BLOB, record_value BLOB,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset));
INSERT INTO "trident_dead_letter" VALUES('payments','1174abec7c7b8315',2,'s','t',1,4,2,NULL,'unreadable',NULL,X'7B','2026-11-28T03:06:36.925+00:00');
INSERT INTO "trident_dead_letter" VALUES('payments','1174abec7c7b8315',4,'s','t',2,14,4,NULL,'unreadable',NULL,X'7B','2026-11-28T03:06:36.939+00:00');
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
INSERT INTO "trident_done_plan" VALUES('payments','1174abec7c7b8315',4,4,'{"changed":[["s","t","id",null,[[0,16,20],[1,12,16],[2,12,16]]]]}');
CREATE TABLE trident_error (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, id VARCHAR NOT NULL, place TEXT NOT NULL,
        kind TEXT NOT NULL, text TEXT NOT NULL, count BIGINT NOT NULL, txid BIGINT, attempt BIGINT,
        epoch BIGINT NOT NULL, first_at VARCHAR NOT NULL, last_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, id));
CREATE TABLE trident_fence (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, token TEXT NOT NULL, holder TEXT NOT NULL,
        session_pid BIGINT, session_host TEXT, session_started DOUBLE, raised_at VARCHAR NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_fence" VALUES('payments',1,'207df36eb87fa90dab51b2d3ead74ed7','host-a:516',516,'host-a',1795835195.71,'2026-11-28T03:06:36.753+00:00');
CREATE TABLE trident_heartbeat (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, beat_at VARCHAR NOT NULL, lease_seconds DOUBLE NOT NULL,
        released BOOLEAN NOT NULL, latencies TEXT,
        PRIMARY KEY (topology));
INSERT INTO "trident_heartbeat" VALUES('payments',1,'2026-11-28T03:06:36.754+00:00',2.0,1,NULL);
CREATE TABLE trident_incarnation (
        topology VARCHAR NOT NULL, id VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, created_at VARCHAR NOT NULL,
        reason TEXT NOT NULL, starts TEXT, status TEXT NOT NULL, births TEXT,
        PRIMARY KEY (topology, id));
INSERT INTO "trident_incarnation" VALUES('payments','1174abec7c7b8315',0,'2026-11-28T03:06:36.783+00:00','first start','[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0,"epoch":null}]','open','[{"state":"balances","txid":0,"with_rows":false},{"state":"totals","txid":0,"with_rows":false}]');
CREATE TABLE trident_loss (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, spout VARCHAR NOT NULL, topic VARCHAR NOT NULL,
        partition BIGINT NOT NULL, start_offset BIGINT NOT NULL, stop_offset BIGINT NOT NULL, incarnation TEXT NOT NULL,
        txid BIGINT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, recorded_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset));
INSERT INTO "trident_loss" VALUES('payments',3,'s','t',0,8,12,'1174abec7c7b8315',3,'done','offsets were gone before they could be read','2026-11-28T03:06:36.930+00:00');
CREATE TABLE trident_pin (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        epoch BIGINT NOT NULL, plan TEXT NOT NULL, manifests TEXT NOT NULL, states TEXT NOT NULL,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_pin" VALUES('payments','1174abec7c7b8315',1,1,1,'{}','[["s",{"edge":6995949938133062693,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":4391947628445969601,"id":{"topic":"t","partition":1},"position":4,"digest":{"count":4,"low":10746154657,"high":10644522984,"xor":-7554638761862431389},"size_bytes":40,"newest":null}],["s",{"edge":8085568195491477933,"id":{"topic":"t","partition":2},"position":4,"digest":{"count":4,"low":9840981767,"high":7822292548,"xor":6110933767266996073},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"96f9f0e292034749852b4d78b4163562","digest":{"count":10,"low":27379007785,"high":15099371799,"xor":196477355080268939}}]}]','2026-11-28T03:06:36.914+00:00');
INSERT INTO "trident_pin" VALUES('payments','1174abec7c7b8315',2,2,1,'{}','[["s",{"edge":6611832922884275676,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":1995654025850040235,"id":{"topic":"t","partition":1},"position":8,"digest":{"count":4,"low":6865414501,"high":8943433480,"xor":8431679789336237631},"size_bytes":40,"newest":null}],["s",{"edge":1821121683418619783,"id":{"topic":"t","partition":2},"position":8,"digest":{"count":4,"low":8996081524,"high":8430122451,"xor":3769159099334608816},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"382563ac796e4e6990d4a2e74fdce5e5","digest":{"count":10,"low":22081255866,"high":25438176078,"xor":-4288848307110140516}}]}]','2026-11-28T03:06:36.925+00:00');
INSERT INTO "trident_pin" VALUES('payments','1174abec7c7b8315',3,3,1,'{}','[["s",{"edge":7692629356742548586,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":2965027190689163784,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":4,"low":6411868675,"high":9516693174,"xor":3911161667909020167},"size_bytes":40,"newest":null}],["s",{"edge":547059584307396947,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":4,"low":10130629554,"high":8047617560,"xor":-4796163778495587228},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"a8574515b3804d10b8b9dac57791e2da","digest":{"count":8,"low":17507806046,"high":17424943769,"xor":8182045813014315252}}]}]','2026-11-28T03:06:36.933+00:00');
INSERT INTO "trident_pin" VALUES('payments','1174abec7c7b8315',4,4,1,'{}','[["s",{"edge":2594359072734050932,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":7018258140476019801,"id":{"topic":"t","partition":1},"position":16,"digest":{"count":4,"low":12744956373,"high":4889354971,"xor":-1764735473416325031},"size_bytes":40,"newest":null}],["s",{"edge":8721535877964730457,"id":{"topic":"t","partition":2},"position":16,"digest":{"count":4,"low":9019689577,"high":11841828031,"xor":-2219090609444582677},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"0308b58018e24692b20d16bcce66326b","digest":{"count":8,"low":18164441976,"high":16633640015,"xor":2639955617909530916}}]}]','2026-11-28T03:06:36.939+00:00');
INSERT INTO "trident_pin" VALUES('payments','1174abec7c7b8315',5,5,1,'{}','[["s",{"edge":7211016953123082625,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":994650125488000288,"id":{"topic":"t","partition":1},"position":20,"digest":{"count":4,"low":12929239765,"high":11456535649,"xor":-1689574802847106073},"size_bytes":40,"newest":null}],["s",{"edge":5118181490733912479,"id":{"topic":"t","partition":2},"position":20,"digest":{"count":4,"low":12211767297,"high":8438760954,"xor":2001654101640339565},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"960631f5bdb84e4a9440ae5912b4a4ad","digest":{"count":8,"low":17489651034,"high":15744167671,"xor":-5900702504180378262}}]}]','2026-11-28T03:06:36.945+00:00');
CREATE TABLE trident_plan (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, predecessor BIGINT NOT NULL, status TEXT NOT NULL,
        batch_time VARCHAR NOT NULL, created_at VARCHAR NOT NULL, ranges TEXT NOT NULL, losses TEXT NOT NULL, timers TEXT NOT NULL DEFAULT '[]', received TEXT NOT NULL DEFAULT '[]', diverts TEXT NOT NULL DEFAULT '[]',
        PRIMARY KEY (topology, attempt));
INSERT INTO "trident_plan" VALUES('payments',1,'1174abec7c7b8315',1,1,1,0,'done','2026-11-28T03:06:36.791773+00:00','2026-11-28T03:06:36.793+00:00','{"changed":[["s","t","id",null,[[0,0,4],[1,0,4],[2,0,4]]]]}','[]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',2,'1174abec7c7b8315',2,1,1,1,'done','2026-11-28T03:06:36.920783+00:00','2026-11-28T03:06:36.921+00:00','{"changed":[["s","t","id",null,[[0,4,8],[1,4,8],[2,4,8]]]]}','[]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',3,'1174abec7c7b8315',3,1,1,2,'done','2026-11-28T03:06:36.928966+00:00','2026-11-28T03:06:36.929+00:00','{"changed":[["s","t","id",null,[[0,12,16],[1,8,12],[2,8,12]]]]}','[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',4,'1174abec7c7b8315',4,1,1,3,'done','2026-11-28T03:06:36.936086+00:00','2026-11-28T03:06:36.936+00:00','{"changed":[["s","t","id",null,[[0,16,20],[1,12,16],[2,12,16]]]]}','[]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',5,'1174abec7c7b8315',5,1,1,4,'live','2026-11-28T03:06:36.942372+00:00','2026-11-28T03:06:36.943+00:00','{"changed":[["s","t","id",null,[[0,20,24],[1,16,20],[2,16,20]]]]}','[]','[]','[]','[]');
CREATE TABLE trident_progress (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, done BIGINT NOT NULL, done_attempt BIGINT NOT NULL,
        pinned BIGINT, pinned_attempt BIGINT, last_txid BIGINT NOT NULL, last_attempt BIGINT NOT NULL, reset_to TEXT, undoing BIGINT, held BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (topology));
INSERT INTO "trident_progress" VALUES('payments','1174abec7c7b8315',4,4,5,5,5,5,NULL,NULL,0);
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
INSERT INTO "trident_schema" VALUES(1,'2026-11-28T03:06:36.694+00:00');
INSERT INTO "trident_schema" VALUES(2,'2026-11-28T03:06:36.695+00:00');
INSERT INTO "trident_schema" VALUES(3,'2026-11-28T03:06:36.695+00:00');
INSERT INTO "trident_schema" VALUES(4,'2026-11-28T03:06:36.696+00:00');
INSERT INTO "trident_schema" VALUES(5,'2026-11-28T03:06:36.696+00:00');
INSERT INTO "trident_schema" VALUES(6,'2026-11-28T03:06:36.697+00:00');
INSERT INTO "trident_schema" VALUES(7,'2026-11-28T03:06:36.697+00:00');
CREATE TABLE "trident_staging_balances" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
CREATE TABLE trident_state_schema (version BIGINT NOT NULL, applied_at VARCHAR NOT NULL, PRIMARY KEY (version));
INSERT INTO "trident_state_schema" VALUES(1,'2026-11-28T03:06:36.774+00:00');
INSERT INTO "trident_state_schema" VALUES(2,'2026-11-28T03:06:36.774+00:00');
INSERT INTO "trident_state_schema" VALUES(3,'2026-11-28T03:06:36.775+00:00');
CREATE TABLE trident_topology (
        name VARCHAR NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL, created_at VARCHAR NOT NULL, activity TEXT NOT NULL DEFAULT 'active',
        PRIMARY KEY (name));
INSERT INTO "trident_topology" VALUES('payments','1174abec7c7b8315','{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"sqlite","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"sqlite","kind":"opaque","table":"totals","database":"own"}},"dropped":[]}','2026-11-28T03:06:36.783+00:00','active');
CREATE UNIQUE INDEX trident_plan_live ON trident_plan (topology, txid) WHERE status = 'live';
CREATE INDEX trident_plan_open ON trident_plan (topology, incarnation, txid) WHERE status = 'live';
CREATE INDEX trident_plan_txid ON trident_plan (topology, txid, attempt);
CREATE INDEX trident_pin_txid ON trident_pin (topology, txid);
CREATE INDEX trident_commit_txid ON trident_commit (topology, txid);
CREATE INDEX trident_command_open ON trident_command (topology, number) WHERE verdict IS NULL;
CREATE UNIQUE INDEX "trident_key_balances" ON "balances" ("account");
CREATE UNIQUE INDEX "trident_null_key_balances" ON "balances" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_balances" ON "trident_staging_balances" (trident_txid);
COMMIT;
