import type { Migration } from '@leadwire/service-kit'

// A lead's version is which transaction wrote its row (load-leads.ts). Whatever is written with a lead is written once; should
// somebody change it all the same, the row is written anew, so that nobody goes on with a body that he kept.
export const leadVersion: Migration = {
  name: '0010-lead-version',
  up: async (knex) => {
    await knex.raw(`
      CREATE FUNCTION renew_version_of_lead() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          UPDATE leads l SET updated_at = l.updated_at
          WHERE l.account_id = OLD.account_id AND CASE TG_TABLE_NAME
            WHEN 'customers' THEN l.customer_id = OLD.id
            WHEN 'quotes' THEN l.id = (to_jsonb(OLD) ->> 'lead_id')::bigint
            WHEN 'quote_items' THEN l.id IN (
              SELECT q.lead_id FROM quotes q
              WHERE q.account_id = OLD.account_id AND q.id = (to_jsonb(OLD) ->> 'quote_id')::bigint
            )
            WHEN 'images' THEN l.id IN (
              SELECT q.lead_id FROM quote_items i JOIN quotes q ON q.account_id = i.account_id AND q.id = i.quote_id
              WHERE i.account_id = OLD.account_id AND i.image_id = OLD.id
            )
          END;
          RETURN NULL;
        END
      $$;
      CREATE TRIGGER renew_version AFTER UPDATE OR DELETE ON customers
        FOR EACH ROW EXECUTE FUNCTION renew_version_of_lead();
      CREATE TRIGGER renew_version AFTER UPDATE OR DELETE ON quotes
        FOR EACH ROW EXECUTE FUNCTION renew_version_of_lead();
      CREATE TRIGGER renew_version AFTER UPDATE OR DELETE ON quote_items
        FOR EACH ROW EXECUTE FUNCTION renew_version_of_lead();
      CREATE TRIGGER renew_version AFTER UPDATE OR DELETE ON images
        FOR EACH ROW EXECUTE FUNCTION renew_version_of_lead();
    `)
  },
}
