BEGIN TRANSACTION;
CREATE TABLE accepted (manifest text);
INSERT INTO "accepted" VALUES('{"state":"counts","write_id":"b5f9369b455948d39aca60f09a253d2f","digest":{"count":3,"low":7362684957,"high":8273705802,"xor":1179157381909997665}}');
CREATE TABLE "counts" ("account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_n" bigint CHECK (typeof("previous_n") IN ('integer', 'null') AND "previous_n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_total" bigint CHECK (typeof("previous_total") IN ('integer', 'null') AND "previous_total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_txid" bigint CHECK (typeof("previous_txid") IN ('integer', 'null') AND "previous_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "txid" bigint NOT NULL CHECK (typeof("txid") IN ('integer', 'null') AND "txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "counts" VALUES('ann',3,2,1,1,1,2);
INSERT INTO "counts" VALUES('bob',2,-3,1,-1,1,2);
INSERT INTO "counts" VALUES(NULL,2,2,1,1,1,2);
CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL, row_count bigint, relation text, is_sink boolean NOT NULL DEFAULT FALSE,
            PRIMARY KEY (topology, state));
INSERT INTO "trident_applied" VALUES('orders','counts','counts','first-life',3,'first.c',2,20,0,3,NULL,0);
CREATE TABLE "trident_staging_counts" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "trident_staging_counts" VALUES(1,10,'efdcc9f15292425c82d5d1660888f3ec',-6186893791393527106,'ann',1,1);
INSERT INTO "trident_staging_counts" VALUES(1,10,'efdcc9f15292425c82d5d1660888f3ec',7060758926776549872,'bob',1,-1);
INSERT INTO "trident_staging_counts" VALUES(1,10,'efdcc9f15292425c82d5d1660888f3ec',-826269633066016522,NULL,1,1);
INSERT INTO "trident_staging_counts" VALUES(2,20,'f44d199a82fb4124be5bc5a7c3c30c9f',-1476984782213817113,'ann',2,1);
INSERT INTO "trident_staging_counts" VALUES(2,20,'f44d199a82fb4124be5bc5a7c3c30c9f',771732271169047183,'bob',1,-2);
INSERT INTO "trident_staging_counts" VALUES(2,20,'f44d199a82fb4124be5bc5a7c3c30c9f',3724041581878547043,NULL,1,1);
INSERT INTO "trident_staging_counts" VALUES(3,30,'b5f9369b455948d39aca60f09a253d2f',4788806770697449430,'ann',3,1);
INSERT INTO "trident_staging_counts" VALUES(3,30,'b5f9369b455948d39aca60f09a253d2f',-6022218736125896232,'bob',1,-3);
INSERT INTO "trident_staging_counts" VALUES(3,30,'b5f9369b455948d39aca60f09a253d2f',-124780338312520081,NULL,1,1);
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
INSERT INTO "trident_state_fence" VALUES('orders',3,'first.c');
CREATE TABLE trident_state_schema (version BIGINT NOT NULL, applied_at VARCHAR NOT NULL, PRIMARY KEY (version));
INSERT INTO "trident_state_schema" VALUES(1,'2026-11-23T11:20:21.062+00:00');
INSERT INTO "trident_state_schema" VALUES(2,'2026-11-23T11:20:21.063+00:00');
INSERT INTO "trident_state_schema" VALUES(3,'2026-11-23T11:20:21.064+00:00');
CREATE UNIQUE INDEX "trident_key_counts" ON "counts" ("account");
CREATE UNIQUE INDEX "trident_null_key_counts" ON "counts" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_counts" ON "trident_staging_counts" (trident_txid);
COMMIT;
