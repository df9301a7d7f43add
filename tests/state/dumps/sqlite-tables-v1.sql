BEGIN TRANSACTION;
CREATE TABLE accepted (manifest text);
INSERT INTO "accepted" VALUES('{"state":"counts","write_id":"86948b59b2934e5c872f45757e56c254","digest":{"count":3,"low":7964333127,"high":8155305569,"xor":1943344012090551539}}');
CREATE TABLE "counts" ("account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_n" bigint CHECK (typeof("previous_n") IN ('integer', 'null') AND "previous_n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_total" bigint CHECK (typeof("previous_total") IN ('integer', 'null') AND "previous_total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_txid" bigint CHECK (typeof("previous_txid") IN ('integer', 'null') AND "previous_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "txid" bigint NOT NULL CHECK (typeof("txid") IN ('integer', 'null') AND "txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "counts" VALUES('ann',3,2,1,1,1,2);
INSERT INTO "counts" VALUES('bob',2,-3,1,-1,1,2);
INSERT INTO "counts" VALUES(NULL,2,2,1,1,1,2);
CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL,
            PRIMARY KEY (topology, state));
INSERT INTO "trident_applied" VALUES('orders','counts','counts','first-life',3,'c',2,20,0);
CREATE TABLE "trident_staging_counts" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "trident_staging_counts" VALUES(1,10,'c0b6637a200e47dbaf5b21a3940cc947',-8181387616866004309,'ann',1,1);
INSERT INTO "trident_staging_counts" VALUES(1,10,'c0b6637a200e47dbaf5b21a3940cc947',-7404733444406761754,'bob',1,-1);
INSERT INTO "trident_staging_counts" VALUES(1,10,'c0b6637a200e47dbaf5b21a3940cc947',-260543412054274248,NULL,1,1);
INSERT INTO "trident_staging_counts" VALUES(2,20,'d5c0d4d6e72c413fadd55b416948d3c4',-7366008536243056799,'ann',2,1);
INSERT INTO "trident_staging_counts" VALUES(2,20,'d5c0d4d6e72c413fadd55b416948d3c4',1878036857088948756,'bob',1,-2);
INSERT INTO "trident_staging_counts" VALUES(2,20,'d5c0d4d6e72c413fadd55b416948d3c4',2386946879110646294,NULL,1,1);
INSERT INTO "trident_staging_counts" VALUES(3,30,'86948b59b2934e5c872f45757e56c254',-4282957160464387149,'ann',3,1);
INSERT INTO "trident_staging_counts" VALUES(3,30,'86948b59b2934e5c872f45757e56c254',-2181931867549978390,'bob',1,-3);
INSERT INTO "trident_staging_counts" VALUES(3,30,'86948b59b2934e5c872f45757e56c254',4598171596301266858,NULL,1,1);
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
INSERT INTO "trident_state_fence" VALUES('orders',3,'c');
CREATE TABLE trident_state_schema (
	version BIGINT NOT NULL, 
	applied_at VARCHAR NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "trident_state_schema" VALUES(1,'2026-11-21T20:52:10.207+00:00');
CREATE UNIQUE INDEX "trident_key_counts" ON "counts" ("account");
CREATE UNIQUE INDEX "trident_null_key_counts" ON "counts" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_counts" ON "trident_staging_counts" (trident_txid);
COMMIT;
