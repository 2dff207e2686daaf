import type { Migration } from '@leadwire/service-kit'

const SCHEMA = `
-- No index holds what a claim changes, so that a claim is a new version of the row in the same page and touches no
-- index (HOT). What is claimed is passed over in the heap: never more than a few at the head of an endpoint.
DROP INDEX deliveries_due;
DROP INDEX deliveries_claimed;
DROP INDEX deliveries_by_hand;
CREATE INDEX deliveries_open ON deliveries (status, endpoint_id, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_by_hand ON deliveries (endpoint_id, by_hand_at) WHERE by_hand_at IS NOT NULL;
ALTER TABLE deliveries SET (fillfactor = 60);

-- Who may have claims. One whose advisory lock is free is gone.
CREATE TABLE workers (id integer PRIMARY KEY);

-- An attempt is written by the statement that moves its delivery, and no delivery is ever removed.
ALTER TABLE attempts DROP CONSTRAINT attempts_delivery_id_fkey;
`

export const claimInPlace: Migration = {
  name: '003-claim-in-place',
  up: async (knex) => void (await knex.raw(SCHEMA)),
}
