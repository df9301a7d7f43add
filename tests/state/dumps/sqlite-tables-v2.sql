BEGIN TRANSACTION;
CREATE TABLE accepted (manifest text);
INSERT INTO "accepted" VALUES('{"state":"counts","write_id":"8d564981faf54d2bacff24940ff0b940","digest":{"count":3,"low":2918185491,"high":10358847985,"xor":-6995209466564038197}}');
CREATE TABLE "counts" ("account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_n" bigint CHECK (typeof("previous_n") IN ('integer', 'null') AND "previous_n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_total" bigint CHECK (typeof("previous_total") IN ('integer', 'null') AND "previous_total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_txid" bigint CHECK (typeof("previous_txid") IN ('integer', 'null') AND "previous_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "txid" bigint NOT NULL CHECK (typeof("txid") IN ('integer', 'null') AND "txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "counts" VALUES('ann',3,2,1,1,1,2);
INSERT INTO "counts" VALUES('bob',2,-3,1,-1,1,2);
INSERT INTO "counts" VALUES(NULL,2,2,1,1,1,2);
CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL, row_count bigint, relation text,
            PRIMARY KEY (topology, state));
INSERT INTO "trident_applied" VALUES('orders','counts','counts','first-life',3,'c',2,20,0,3,NULL);
CREATE TABLE "trident_staging_counts" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "trident_staging_counts" VALUES(1,10,'8c20e0af6d444a22a3c1c78e9d064657',7408652761261372859,'ann',1,1);
INSERT INTO "trident_staging_counts" VALUES(1,10,'8c20e0af6d444a22a3c1c78e9d064657',3217134361530322628,'bob',1,-1);
INSERT INTO "trident_staging_counts" VALUES(1,10,'8c20e0af6d444a22a3c1c78e9d064657',5653785239296132930,NULL,1,1);
INSERT INTO "trident_staging_counts" VALUES(2,20,'d4818cf97bf84c26884775aa8e1b1a74',-2417892767368150197,'ann',2,1);
INSERT INTO "trident_staging_counts" VALUES(2,20,'d4818cf97bf84c26884775aa8e1b1a74',-4759164492853662426,'bob',1,-2);
INSERT INTO "trident_staging_counts" VALUES(2,20,'d4818cf97bf84c26884775aa8e1b1a74',-341940180548935189,NULL,1,1);
INSERT INTO "trident_staging_counts" VALUES(3,30,'8d564981faf54d2bacff24940ff0b940',-3152218841754029851,'ann',3,1);
INSERT INTO "trident_staging_counts" VALUES(3,30,'8d564981faf54d2bacff24940ff0b940',-5915273093895166966,'bob',1,-3);
INSERT INTO "trident_staging_counts" VALUES(3,30,'8d564981faf54d2bacff24940ff0b940',-1781826962750773980,NULL,1,1);
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
INSERT INTO "trident_state_fence" VALUES('orders',3,'c');
CREATE TABLE trident_state_schema (version BIGINT NOT NULL, applied_at VARCHAR NOT NULL, PRIMARY KEY (version));
INSERT INTO "trident_state_schema" VALUES(1,'2026-11-22T08:36:55.248+00:00');
INSERT INTO "trident_state_schema" VALUES(2,'2026-11-22T08:36:55.261+00:00');
CREATE UNIQUE INDEX "trident_key_counts" ON "counts" ("account");
CREATE UNIQUE INDEX "trident_null_key_counts" ON "counts" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_counts" ON "trident_staging_counts" (trident_txid);
COMMIT;
