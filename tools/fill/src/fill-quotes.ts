import { randomUUID } from 'node:crypto'
import { type Image, leadJsonFormat } from '@leadwire/contracts'
import { renderQuotesTemplate } from './model-lead'
import { renderInstant, type Sql } from './sql'

const INSERT_IMAGE = `
  INSERT INTO images (account_id, key, file_name, file_size, content_type)
  VALUES ($1, $2, 'window.png', 48213, 'image/png')
  RETURNING id, name, file_name, file_size, content_type, alt, public::int, processed::int,
    ${renderInstant('created_at')} AS created_at, ${renderInstant('updated_at')} AS updated_at`

// The columns of the items are read from the JSON. A lead whose JSON has the format of another release gets
// json_format 0: services then render it from its columns.
const INSERT = `
  WITH lead AS MATERIALIZED (
    SELECT id, created_at FROM leads l
    WHERE account_id = $1 AND NOT EXISTS (SELECT FROM quotes q WHERE q.account_id = l.account_id AND q.lead_id = l.id)
    ORDER BY number
  ), given AS MATERIALIZED (
    SELECT id AS lead_id, created_at, nextval(pg_get_serial_sequence('quotes', 'id')) AS id,
      nextval(pg_get_serial_sequence('quote_items', 'id')) AS item_1,
      nextval(pg_get_serial_sequence('quote_items', 'id')) AS item_2
    FROM lead
  ), made AS MATERIALIZED (
    SELECT *, format($4::text, id, lead_id, ${renderInstant('created_at')}, item_1, item_2) AS quotes FROM given
  ), quote AS (
    INSERT INTO quotes (account_id, id, lead_id, status, created_at, updated_at)
    SELECT $1, id, lead_id, 'complete', created_at, created_at FROM given ORDER BY id
  ), item AS (
    INSERT INTO quote_items (account_id, id, quote_id, product_style_id, name, price, format, hidden, status,
      product_style_sku, product_style_name, product_name, image_id, options, created_at, updated_at)
    SELECT $1, i.id, i.quote_id, i.product_style_id, i.name, i.price, i.format, i.hidden, i.status,
      json #>> '{product_style,sku}', json #>> '{product_style,name}', json #>> '{product_style,product,name}', $2,
      json -> 'options', i.created_at, i.updated_at
    FROM made, json_array_elements(concat('{', quotes, '}')::json #> '{quotes,0,items}') AS json,
      json_populate_record(NULL::quote_items, json) AS i
    ORDER BY i.id
  )
  UPDATE leads l SET version = version + 1, json_format = CASE json_format WHEN $3 THEN $3 ELSE 0 END,
    json_details = left(json_details, -length('"quotes":[]')) || quotes
  FROM made WHERE l.account_id = $1 AND l.id = made.lead_id`

/**
 * Adds a quote with two items to each lead without quotes in an account. All items have the same image, whose
 * file does not exist. Emits no event, so use it only before a client reads the leads.
 */
export const fillQuotes = async (
  { leads, assetsUrl }: { leads: Sql; assetsUrl: string },
  accountId: number,
): Promise<void> =>
  leads.transaction(async (rows) => {
    const key = `images/${randomUUID()}.png`
    const [image] = await rows<Image>(INSERT_IMAGE, [accountId, key])
    const quotes = renderQuotesTemplate({ ...image!, url: `${assetsUrl}/${key}` })
    await rows(INSERT, [accountId, image!.id, leadJsonFormat(assetsUrl), quotes])
  })
