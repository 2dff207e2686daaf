import { Customer, fieldsOf, LeadListItem, Quote, QuoteItem } from '@leadwire/contracts'
import type { TObject } from '@sinclair/typebox'

/** What an erasure does to the rows of one kind, in this service's database. */
interface ErasedRows {
  /** What the receipt calls it. */
  what: string
  /** An UPDATE or a DELETE: $1 is the account, $2 the lead's `by`. */
  text: string
  by: 'id' | 'number' | 'reference'
}

/** Empties the personal fields of a record: texts that must be there become empty, the others NULL. */
const emptied = (record: TObject): string[] =>
  fieldsOf(record)
    .filter(({ personal }) => personal)
    .map(({ column, nullable }) => `${column} = ${nullable ? 'NULL' : "''"}`)

/**
 * Every place of personal data in this service's database, beside the outbox: a further one is a further entry. What is countable
 * stays: numbers, references, times, prices, and words of which there are only a few (status, referrer, type).
 */
export const ERASED_ROWS: ErasedRows[] = [
  {
    what: 'customer',
    by: 'id',
    text: `UPDATE leads SET ${emptied(Customer)} WHERE account_id = $1 AND id = $2`,
  },
  {
    what: 'lead',
    by: 'id',
    text: `UPDATE leads SET ${emptied(LeadListItem)}, created_by_request_id = NULL WHERE account_id = $1 AND id = $2`,
  },
  {
    what: 'quotes',
    by: 'id',
    text: `UPDATE quotes SET ${emptied(Quote)} WHERE account_id = $1 AND lead_id = $2`,
  },
  {
    what: 'quote_items',
    by: 'id',
    text: `
      UPDATE quote_items SET ${emptied(QuoteItem)}, options = '{}', product_style_sku = '', product_style_name = '',
        product_name = ''
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
