import { hash } from 'node:crypto'
import type { Transaction } from '@leadwire/service-kit'
import { isUuid } from '../arguments'

// One statement for any number of leads, that only puts finished pieces together (see schema/json-head.ts). The style
// and the options of an item come after its image (interface: Quote item), and options are text as they were given.
// The image is looked up for each item: of a join, where most accounts have few images, PostgreSQL makes a plan that
// reads an account's images in turn until it meets the one.
// A lead's version is the transaction that wrote its row, and with it all that is written once with it (see
// schema/lead-version.ts). There is a row for each lead that is of another version than is known; one that isn't there is, too.
const SELECT_LEADS = `
  SELECT asked.ord::int, l.xmin AS version, concat('{"data":', l.json_head, ',"customer":', c.json_head, '},"quotes":[', (
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
  FROM unnest($1::bigint[], $2::uuid[], $4::xid[]) WITH ORDINALITY AS asked (account_id, reference, known, ord)
  LEFT JOIN leads l ON l.reference = asked.reference AND l.account_id = asked.account_id
  LEFT JOIN customers c ON c.account_id = l.account_id AND c.id = l.customer_id
  WHERE l.xmin IS DISTINCT FROM asked.known`

// No lead has it: PostgreSQL is asked for well-formed references only.
const NO_REFERENCE = '00000000-0000-0000-0000-000000000000'

/** A finished response (interface: Retrieve Lead), of a lead with customer and quotes. Without a body it is the known version's. */
export interface LoadedLead {
  version: string
  body?: Buffer
}

/** What else a response is made of: who gets a version from another release, or of other addresses, makes nothing of it. */
const editionOf = (assetsUrl: string) =>
  hash('sha256', `${SELECT_LEADS} ${assetsUrl}`, 'base64url').slice(0, 8)

const isXid = (text: string) => /^\d{1,10}$/.test(text) && Number(text) < 2 ** 32

/** The leads in the order asked for, undefined where the account has none. `assetsUrl` has no slash at its end. */
export const loadLeads = async (
  db: Transaction,
  asked: { accountId: number; reference: string; knownVersion?: string | undefined }[],
  assetsUrl: string,
): Promise<(LoadedLead | undefined)[]> => {
  const edition = editionOf(assetsUrl)
  const known = asked.map(({ knownVersion }) =>
    knownVersion?.startsWith(edition) && isXid(knownVersion.slice(edition.length)) ? knownVersion : undefined,
  )
  const rows = await db.query<{ ord: number; version: string | null; body: string }>({
    name: 'load-leads',
    text: SELECT_LEADS,
    values: [
      asked.map(({ accountId }) => accountId),
      asked.map(({ reference }) => (isUuid(reference) ? reference : NO_REFERENCE)),
      `${assetsUrl}/`,
      known.map((version) => version?.slice(edition.length) ?? null),
    ],
  })
  const leads = known.map((version): LoadedLead | undefined =>
    version === undefined ? undefined : { version },
  )
  for (const { ord, version, body } of rows) {
    leads[ord - 1] = version === null ? undefined : { version: edition + version, body: Buffer.from(body) }
  }
  return leads
}
