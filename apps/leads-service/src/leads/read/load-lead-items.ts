import { leadItemJson } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import type { Row } from '../../database/row-mapper'
import { LEAD } from './lead-rows'

const FROM = `
  FROM unnest($2::bigint[]) WITH ORDINALITY AS asked (number, ord)
  JOIN leads l ON l.account_id = $1 AND l.number = asked.number`

// `items` is null where an item was made in another format than asked for.
const SELECT_ITEMS = `
  SELECT CASE WHEN coalesce(bool_and(l.json_format = $3), true)
    THEN coalesce(string_agg(l.json, ',' ORDER BY asked.ord), '') END AS items ${FROM}`

const SELECT_COLUMNS = `SELECT ${LEAD.columns} ${FROM} ORDER BY asked.ord`

/** A JSON array of list items: an account's leads with these numbers, in their order. */
export const loadLeadItems = async (
  db: Transaction,
  { accountId, numbers, jsonFormat }: { accountId: number; numbers: number[]; jsonFormat: number },
): Promise<Buffer> => {
  const values = [accountId, numbers]
  const [made] = await db.query<{ items: string | null }>({
    name: 'load-lead-items',
    text: SELECT_ITEMS,
    values: [...values, jsonFormat],
  })
  if (made!.items !== null) return Buffer.from(`[${made!.items}]`)
  const rows = await db.query<Row>({ name: 'lead-items-of-columns', text: SELECT_COLUMNS, values })
  return Buffer.from(`[${rows.map((row) => leadItemJson(LEAD.read(row))).join(',')}]`)
}
