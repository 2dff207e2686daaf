import type { Transaction } from '@leadwire/service-kit'
import { isUuid } from '../arguments'

// One statement for any number of leads, that only puts finished pieces together (see schema/json-head.ts). The style
// and the options of an item come after its image (interface: Quote item), and options are text as they were given.
// The image is looked up for each item: of a join, where most accounts have few images, PostgreSQL makes a plan that
// reads an account's images in turn until it meets the one.
const SELECT_LEADS = `
  SELECT asked.ord::int, concat('{"data":', l.json_head, ',"customer":', c.json_head, '},"quotes":[', (
    SELECT string_agg(concat(q.json_head, ',"items":[', (
      SELECT string_agg(concat(i.json_head, ',"image":', (
          SELECT concat(m.json_head, ',"url":', to_json($3::text || m.key))
          FROM images m WHERE m.account_id = i.account_id AND m.id = i.image_id
        ), '},"product_style":{"sku":', to_json(i.product_style_sku), ',"name":', to_json(i.product_style_name),
        ',"product":{"name":', to_json(i.product_name), '}},"options":', i.options, '}'), ',' ORDER BY i.id)
      FROM quote_items i
      WHERE i.account_id = q.account_id AND i.quote_id = q.id
    ), ']}'), ',' ORDER BY q.id)
    FROM quotes q WHERE q.account_id = l.account_id AND q.lead_id = l.id
  ), ']}}') AS body
  FROM unnest($1::bigint[], $2::uuid[]) WITH ORDINALITY AS asked (account_id, reference, ord)
  JOIN leads l ON l.reference = asked.reference AND l.account_id = asked.account_id
  JOIN customers c ON c.account_id = l.account_id AND c.id = l.customer_id`

// No lead has it: PostgreSQL is asked for well-formed references only.
const NO_REFERENCE = '00000000-0000-0000-0000-000000000000'

/**
 * Finished responses (interface: Retrieve Lead) of leads with customer and quotes, in the order asked for; undefined where
 * the account has no such lead. `assetsUrl` has no slash at its end.
 */
export const loadLeads = async (
  db: Transaction,
  asked: { accountId: number; reference: string }[],
  assetsUrl: string,
): Promise<(Buffer | undefined)[]> => {
  const rows = await db.query<{ ord: number; body: string }>({
    name: 'load-leads',
    text: SELECT_LEADS,
    values: [
      asked.map(({ accountId }) => accountId),
      asked.map(({ reference }) => (isUuid(reference) ? reference : NO_REFERENCE)),
      `${assetsUrl}/`,
    ],
  })
  const bodies: (Buffer | undefined)[] = asked.map(() => undefined)
  for (const { ord, body } of rows) bodies[ord - 1] = Buffer.from(body)
  return bodies
}
