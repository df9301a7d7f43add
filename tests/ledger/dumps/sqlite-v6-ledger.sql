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
INSERT INTO "trident_applied" VALUES('payments','balances','balances','8a8571f9562c4e75',1,'99fb7371ec0465cd107f7cbf2fca738d',5,5,0,11,NULL,0);
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
INSERT INTO "trident_commit" VALUES('payments','8a8571f9562c4e75',1,1,1,1,12,0,20,17,346,43,'2026-11-28T00:00:49.623+00:00');
INSERT INTO "trident_commit" VALUES('payments','8a8571f9562c4e75',2,2,1,1,12,1,20,12,2,4,'2026-11-28T00:00:49.656+00:00');
INSERT INTO "trident_commit" VALUES('payments','8a8571f9562c4e75',3,3,1,1,12,0,16,2,1,3,'2026-11-28T00:00:49.663+00:00');
INSERT INTO "trident_commit" VALUES('payments','8a8571f9562c4e75',4,4,1,1,12,1,16,1,1,3,'2026-11-28T00:00:49.669+00:00');
CREATE TABLE trident_dead_letter (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, spout VARCHAR NOT NULL,
        topic VARCHAR NOT NULL, partition BIGINT NOT NULL, record_offset BIGINT NOT NULL, attempt BIGINT NOT NULL,
        record_timestamp BIGINT, reason TEXT NOT NULL, record_key BLOB, record_value BLOB,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset));
INSERT INTO "trident_dead_letter" VALUES('payments','8a8571f9562c4e75',2,'s','t',1,4,2,NULL,'unreadable',NULL,X'7B','2026-11-28T00:00:49.653+00:00');
INSERT INTO "trident_dead_letter" VALUES('payments','8a8571f9562c4e75',4,'s','t',2,14,4,NULL,'unreadable',NULL,X'7B','2026-11-28T00:00:49.668+00:00');
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
INSERT INTO "trident_done_plan" VALUES('payments','8a8571f9562c4e75',4,4,'{"changed":[["s","t","id",null,[[0,16,20],[1,12,16],[2,12,16]]]]}');
CREATE TABLE trident_fence (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, token TEXT NOT NULL, holder TEXT NOT NULL,
        session_pid BIGINT, session_host TEXT, session_started DOUBLE, raised_at VARCHAR NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_fence" VALUES('payments',1,'99fb7371ec0465cd107f7cbf2fca738d','host-a:26824',26824,'host-a',1795824046.72,'2026-11-28T00:00:48.768+00:00');
CREATE TABLE trident_heartbeat (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, beat_at VARCHAR NOT NULL, lease_seconds DOUBLE NOT NULL,
        released BOOLEAN NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_heartbeat" VALUES('payments',1,'2026-11-28T00:00:49.305+00:00',2.0,1);
CREATE TABLE trident_incarnation (
        topology VARCHAR NOT NULL, id VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, created_at VARCHAR NOT NULL,
        reason TEXT NOT NULL, starts TEXT, status TEXT NOT NULL, births TEXT,
        PRIMARY KEY (topology, id));
INSERT INTO "trident_incarnation" VALUES('payments','8a8571f9562c4e75',0,'2026-11-28T00:00:49.171+00:00','first start','[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0,"epoch":null}]','open','[{"state":"balances","txid":0,"with_rows":false},{"state":"totals","txid":0,"with_rows":false}]');
CREATE TABLE trident_loss (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, spout VARCHAR NOT NULL, topic VARCHAR NOT NULL,
        partition BIGINT NOT NULL, start_offset BIGINT NOT NULL, stop_offset BIGINT NOT NULL, incarnation TEXT NOT NULL,
        txid BIGINT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, recorded_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset));
INSERT INTO "trident_loss" VALUES('payments',3,'s','t',0,8,12,'8a8571f9562c4e75',3,'done','offsets were gone before they could be read','2026-11-28T00:00:49.659+00:00');
CREATE TABLE trident_pin (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        epoch BIGINT NOT NULL, plan TEXT NOT NULL, manifests TEXT NOT NULL, states TEXT NOT NULL,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_pin" VALUES('payments','8a8571f9562c4e75',1,1,1,'{}','[["s",{"edge":7895382281512078878,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":8484601531568769270,"id":{"topic":"t","partition":1},"position":4,"digest":{"count":4,"low":10746154657,"high":10644522984,"xor":-7554638761862431389},"size_bytes":40,"newest":null}],["s",{"edge":6079711178300994901,"id":{"topic":"t","partition":2},"position":4,"digest":{"count":4,"low":9840981767,"high":7822292548,"xor":6110933767266996073},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"5c900326a929431abe5c3cdbbaef0340","digest":{"count":10,"low":19780453259,"high":22260674795,"xor":3164714550996830743}}]}]','2026-11-28T00:00:49.586+00:00');
INSERT INTO "trident_pin" VALUES('payments','8a8571f9562c4e75',2,2,1,'{}','[["s",{"edge":1958901016474855222,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":4747350804754977117,"id":{"topic":"t","partition":1},"position":8,"digest":{"count":4,"low":6865414501,"high":8943433480,"xor":8431679789336237631},"size_bytes":40,"newest":null}],["s",{"edge":4747680067763585246,"id":{"topic":"t","partition":2},"position":8,"digest":{"count":4,"low":8996081524,"high":8430122451,"xor":3769159099334608816},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"73d6d7e918b14e81b9cddc3aba77db69","digest":{"count":10,"low":22841918622,"high":25520798309,"xor":8564376767408606632}}]}]','2026-11-28T00:00:49.653+00:00');
INSERT INTO "trident_pin" VALUES('payments','8a8571f9562c4e75',3,3,1,'{}','[["s",{"edge":4593948387376211628,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":6626658013546551221,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":4,"low":6411868675,"high":9516693174,"xor":3911161667909020167},"size_bytes":40,"newest":null}],["s",{"edge":6608327575278980283,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":4,"low":10130629554,"high":8047617560,"xor":-4796163778495587228},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"bf0602bb54434df689d998d8545ab98d","digest":{"count":8,"low":12210019493,"high":19281629941,"xor":3641269398957203717}}]}]','2026-11-28T00:00:49.661+00:00');
INSERT INTO "trident_pin" VALUES('payments','8a8571f9562c4e75',4,4,1,'{}','[["s",{"edge":1976291130711838621,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":3954367038490000946,"id":{"topic":"t","partition":1},"position":16,"digest":{"count":4,"low":12744956373,"high":4889354971,"xor":-1764735473416325031},"size_bytes":40,"newest":null}],["s",{"edge":4631452651418575605,"id":{"topic":"t","partition":2},"position":16,"digest":{"count":4,"low":9019689577,"high":11841828031,"xor":-2219090609444582677},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"a2c13e0dab5c487bb461bb497b698013","digest":{"count":8,"low":9214367266,"high":19120526371,"xor":-8744466562242260916}}]}]','2026-11-28T00:00:49.667+00:00');
INSERT INTO "trident_pin" VALUES('payments','8a8571f9562c4e75',5,5,1,'{}','[["s",{"edge":5460208414835054697,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":4770072990744205914,"id":{"topic":"t","partition":1},"position":20,"digest":{"count":4,"low":12929239765,"high":11456535649,"xor":-1689574802847106073},"size_bytes":40,"newest":null}],["s",{"edge":8252503681745849489,"id":{"topic":"t","partition":2},"position":20,"digest":{"count":4,"low":12211767297,"high":8438760954,"xor":2001654101640339565},"size_bytes":40,"newest":null}]]','[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"6cc3637715c34ff1afbbc464865b92e1","digest":{"count":8,"low":19147623863,"high":23947091619,"xor":-6810981077115934487}}]}]','2026-11-28T00:00:49.673+00:00');
CREATE TABLE trident_plan (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, predecessor BIGINT NOT NULL, status TEXT NOT NULL,
        batch_time VARCHAR NOT NULL, created_at VARCHAR NOT NULL, ranges TEXT NOT NULL, losses TEXT NOT NULL, timers TEXT NOT NULL DEFAULT '[]', received TEXT NOT NULL DEFAULT '[]', diverts TEXT NOT NULL DEFAULT '[]',
        PRIMARY KEY (topology, attempt));
INSERT INTO "trident_plan" VALUES('payments',1,'8a8571f9562c4e75',1,1,1,0,'done','2026-11-28T00:00:49.212510+00:00','2026-11-28T00:00:49.215+00:00','{"changed":[["s","t","id",null,[[0,0,4],[1,0,4],[2,0,4]]]]}','[]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',2,'8a8571f9562c4e75',2,1,1,1,'done','2026-11-28T00:00:49.637932+00:00','2026-11-28T00:00:49.639+00:00','{"changed":[["s","t","id",null,[[0,4,8],[1,4,8],[2,4,8]]]]}','[]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',3,'8a8571f9562c4e75',3,1,1,2,'done','2026-11-28T00:00:49.657303+00:00','2026-11-28T00:00:49.658+00:00','{"changed":[["s","t","id",null,[[0,12,16],[1,8,12],[2,8,12]]]]}','[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',4,'8a8571f9562c4e75',4,1,1,3,'done','2026-11-28T00:00:49.664505+00:00','2026-11-28T00:00:49.665+00:00','{"changed":[["s","t","id",null,[[0,16,20],[1,12,16],[2,12,16]]]]}','[]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',5,'8a8571f9562c4e75',5,1,1,4,'live','2026-11-28T00:00:49.670715+00:00','2026-11-28T00:00:49.671+00:00','{"changed":[["s","t","id",null,[[0,20,24],[1,16,20],[2,16,20]]]]}','[]','[]','[]','[]');
CREATE TABLE trident_progress (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, done BIGINT NOT NULL, done_attempt BIGINT NOT NULL,
        pinned BIGINT, pinned_attempt BIGINT, last_txid BIGINT NOT NULL, last_attempt BIGINT NOT NULL, reset_to TEXT, undoing BIGINT, held BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (topology));
INSERT INTO "trident_progress" VALUES('payments','8a8571f9562c4e75',4,4,5,5,5,5,NULL,NULL,0);
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
INSERT INTO "trident_schema" VALUES(1,'2026-11-28T00:00:48.720+00:00');
INSERT INTO "trident_schema" VALUES(2,'2026-11-28T00:00:48.720+00:00');
INSERT INTO "trident_schema" VALUES(3,'2026-11-28T00:00:48.725+00:00');
INSERT INTO "trident_schema" VALUES(4,'2026-11-28T00:00:48.726+00:00');
INSERT INTO "trident_schema" VALUES(5,'2026-11-28T00:00:48.727+00:00');
INSERT INTO "trident_schema" VALUES(6,'2026-11-28T00:00:48.727+00:00');
CREATE TABLE "trident_staging_balances" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
CREATE TABLE trident_state_schema (version BIGINT NOT NULL, applied_at VARCHAR NOT NULL, PRIMARY KEY (version));
INSERT INTO "trident_state_schema" VALUES(1,'2026-11-28T00:00:49.115+00:00');
INSERT INTO "trident_state_schema" VALUES(2,'2026-11-28T00:00:49.116+00:00');
INSERT INTO "trident_state_schema" VALUES(3,'2026-11-28T00:00:49.116+00:00');
CREATE TABLE trident_topology (
        name VARCHAR NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL, created_at VARCHAR NOT NULL, activity TEXT NOT NULL DEFAULT 'active',
        PRIMARY KEY (name));
INSERT INTO "trident_topology" VALUES('payments','8a8571f9562c4e75','{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"sqlite","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"sqlite","kind":"opaque","table":"totals","database":"own"}},"dropped":[]}','2026-11-28T00:00:49.170+00:00','active');
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
