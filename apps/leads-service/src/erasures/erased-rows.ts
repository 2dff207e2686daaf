/** What an erasure does to the rows of one kind, in this service's database. */
interface ErasedRows {
  /** What the receipt calls it. */
  what: string
  /** An UPDATE or a DELETE: $1 is the account, $2 the lead's `by`. */
  text: string
  by: 'id' | 'number' | 'reference' | 'customer_id'
}

/**
 * Every place of personal data in this service's database, beside the outbox (`take-events.ts`): a further one is a further
 * entry. What is countable stays: numbers, references, times, prices, and words of which there are only a few (status, referrer,
 * type). Texts that must be there become empty, the others NULL.
 */
export const ERASED_ROWS: ErasedRows[] = [
  {
    what: 'customer',
    by: 'customer_id',
    text: `
      UPDATE customers SET first_name = '', last_name = '', company_name = NULL, email = '', phone = '', phone_link = '',
        mobile = NULL, mobile_link = NULL, address_1 = NULL, address_2 = NULL, city = NULL, county = NULL, postcode = '',
        avatar_url = NULL
      WHERE account_id = $1 AND id = $2`,
  },
  {
    what: 'lead',
    by: 'id',
    text: `
      UPDATE leads SET name = '', description = NULL, postcode = '', user_agent = '', ip = '', referrer_url = NULL,
        device_type = '', device_name = '', browser = '', browser_version = '', os = '', os_version = '',
        created_by_request_id = NULL
      WHERE account_id = $1 AND id = $2`,
  },
  {
    what: 'quotes',
    by: 'id',
    text: `UPDATE quotes SET status = '' WHERE account_id = $1 AND lead_id = $2`,
  },
  {
    what: 'quote_items',
    by: 'id',
    text: `
      UPDATE quote_items SET name = '', format = '', status = '', options = '{}', product_style_sku = '',
        product_style_name = '', product_name = ''
      WHERE account_id = $1 AND quote_id = ANY (ARRAY (SELECT id FROM quotes WHERE account_id = $1 AND lead_id = $2))`,
  },
  {
    what: 'history',
    by: 'id',
    text: `
      UPDATE lead_changes SET request_id = NULL, changes = (
        SELECT coalesce(json_agg(json_build_object('field', c -> 'field', 'from', NULL, 'to', NULL)), '[]')
        FROM json_array_elements(changes) AS c
      )
      WHERE account_id = $1 AND lead_id = $2`,
  },
  {
    // The rows are the list of what is to be deleted from the object store, and go with it.
    what: 'attachments',
    by: 'id',
    text: `UPDATE attachments SET name = '', file_name = '' WHERE account_id = $1 AND lead_id = $2`,
  },
  {
    what: 'search_words',
    by: 'number',
    text: `DELETE FROM lead_search WHERE account_id = $1 AND number = $2`,
  },
  {
    what: 'idempotency_answers',
    by: 'reference',
    text: `
      DELETE FROM idempotency_keys
      WHERE lead_reference = $2 AND token_id IN (SELECT id FROM tokens WHERE account_id = $1)`,
  },
]
