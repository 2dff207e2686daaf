import type { Sql } from './sql'

const OPTIONS =
  '{"width":1200,"height":1350,"external_frame_colour":"Anthracite Grey","internal_frame_colour":"White","glass":"Clear","frame_material":"uPVC"}'

/**
 * Gives each lead of an account that has no quote one of two items, all with one image, whose file is not there. For
 * leads that nobody has read yet: an import writes quotes with their lead.
 */
export const fillQuotes = async (leads: Sql, accountId: number): Promise<void> => {
  await leads.rows(
    `WITH image AS (
       INSERT INTO images (account_id, key, file_name, file_size, content_type)
       VALUES ($1, 'images/' || gen_random_uuid() || '.png', 'window.png', 48213, 'image/png') RETURNING id
     ), quote AS (
       INSERT INTO quotes (account_id, lead_id, status, created_at, updated_at)
       SELECT account_id, id, 'complete', created_at, created_at FROM leads l
       WHERE account_id = $1
         AND NOT EXISTS (SELECT FROM quotes q WHERE q.account_id = l.account_id AND q.lead_id = l.id)
       ORDER BY number
       RETURNING id, created_at
     )
     INSERT INTO quote_items (account_id, quote_id, product_style_id, name, price, format, hidden, status,
       product_style_sku, product_style_name, product_name, image_id, options, created_at, updated_at)
     SELECT $1, quote.id, 40 + n, 'Casement window ' || n, 41250 + n, 'range', false, 'active', 'CW-' || n,
       'Casement', 'Window', image.id, $2, quote.created_at, quote.created_at
     FROM quote, image, generate_series(1, 2) AS n ORDER BY quote.id, n`,
    [accountId, OPTIONS],
  )
}
