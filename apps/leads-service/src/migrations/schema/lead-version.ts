const TABLES = ['customers', 'quotes', 'quote_items', 'images']

// PostgreSQL gives the rows of a statement to triggers of one event only.
const triggers = TABLES.flatMap((table) =>
  ['UPDATE', 'DELETE'].map(
    (event) => `
      CREATE TRIGGER renew_version_after_${event.toLowerCase()} AFTER ${event} ON ${table}
        REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION renew_version_of_leads();`,
  ),
)

// A lead's version is which transaction wrote its row (load-leads.ts). Whatever is written with a lead is written once; should
// somebody change it all the same, the row is written anew, so that nobody goes on with a body that he kept. Once for a
// statement: leads are found by their customer only by reading all of the account's.
export const leadVersion = `
  CREATE FUNCTION renew_version_of_leads() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_TABLE_NAME = 'customers' THEN
        UPDATE leads l SET updated_at = l.updated_at FROM changed c
        WHERE l.account_id = c.account_id AND l.customer_id = c.id;
      ELSIF TG_TABLE_NAME = 'quotes' THEN
        UPDATE leads l SET updated_at = l.updated_at FROM changed q
        WHERE l.account_id = q.account_id AND l.id = q.lead_id;
      ELSIF TG_TABLE_NAME = 'quote_items' THEN
        UPDATE leads l SET updated_at = l.updated_at
        FROM changed i JOIN quotes q ON q.account_id = i.account_id AND q.id = i.quote_id
        WHERE l.account_id = q.account_id AND l.id = q.lead_id;
      ELSE
        UPDATE leads l SET updated_at = l.updated_at
        FROM changed m JOIN quote_items i ON i.account_id = m.account_id AND i.image_id = m.id
          JOIN quotes q ON q.account_id = i.account_id AND q.id = i.quote_id
        WHERE l.account_id = q.account_id AND l.id = q.lead_id;
      END IF;
      RETURN NULL;
    END
  $$;
  ${triggers.join('')}`
