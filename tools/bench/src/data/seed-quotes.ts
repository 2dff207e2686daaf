import type { Sql } from '../stack/database'
import type { SeededAccount } from './seed-accounts'

const OPTIONS =
  '{"width":1200,"height":1350,"external_frame_colour":"Anthracite Grey","internal_frame_colour":"White","glass":"Clear","frame_material":"uPVC"}'

/** Gives each lead of an account one quote of two items with one image. */
export async function seedQuotes(leads: Sql, account: SeededAccount): Promise<void> {
  await leads.rows(
    `WITH image AS (
       INSERT INTO images (account_id, key, file_name, file_size, content_type)
       VALUES ($1, 'images/' || gen_random_uuid() || '.png', 'window.png', 48213, 'image/png') RETURNING id
     ), quote AS (
       INSERT INTO quotes (account_id, lead_id, status, created_at, updated_at)
       SELECT account_id, id, 'complete', created_at, created_at FROM leads WHERE account_id = $1 ORDER BY number
       RETURNING id, created_at
     )
     INSERT INTO quote_items (account_id, quote_id, product_style_id, name, price, format, hidden, status,
       product_style_sku, product_style_name, product_name, image_id, options, created_at, updated_at)
     SELECT $1, quote.id, 40 + n, 'Casement window ' || n, 41250 + n, 'range', false, 'active', 'CW-' || n,
       'Casement', 'Window', image.id, $2, quote.created_at, quote.created_at
     FROM quote, image, generate_series(1, 2) AS n ORDER BY quote.id, n`,
    [account.id, OPTIONS],
  )
}

/** Brings the tables into the state that autovacuum would bring them into later, so that no round pays for it. */
export async function settleTables(leads: Sql): Promise<void> {
  await leads.rows('VACUUM (ANALYZE) leads, customers, accounts, tokens, quotes, quote_items')
  await leads.rows('CHECKPOINT')
}
