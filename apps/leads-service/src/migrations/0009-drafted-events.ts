import type { Migration } from '@leadwire/service-kit'

// A drafted event is written by the statement that writes its lead, before this process knows the lead's id and time; both
// are in the lead's row. It is a kind of its own so that copies from before, which would publish it as it is, leave it
// alone. A key to leads is not declared: leads are never deleted, and each create would pay for the look.
export const draftedEvents: Migration = {
  name: '0009-drafted-events',
  up: async (knex) => {
    await knex.raw(`
      ALTER TABLE outbox
        ADD COLUMN lead_id bigint,
        DROP CONSTRAINT outbox_kind_check,
        ADD CONSTRAINT outbox_kind_check CHECK (kind IN ('lead.created', 'lead.drafted', 'notification.requested')),
        ADD CHECK ((kind = 'lead.drafted') = (lead_id IS NOT NULL));
      DROP INDEX outbox_to_publish;
      DROP INDEX outbox_to_confirm;
      CREATE INDEX outbox_to_publish ON outbox (id)
        WHERE published_at IS NULL AND kind IN ('lead.created', 'lead.drafted');
      CREATE INDEX outbox_to_confirm ON outbox (published_at)
        WHERE published_at IS NOT NULL AND kind IN ('lead.created', 'lead.drafted');
    `)
  },
}
