import { ListedCustomer } from '@leadwire/contracts'
import { statement, type Transaction } from '@leadwire/service-kit'
import { type Row, recordMapper } from '../../database/row-mapper'
import { isOpenEntry } from '../../scheduling/is-open-entry'
import { DUPLICATE_OF, loadItemsFromColumns } from '../read/lead-rows'

const CUSTOMER = recordMapper(ListedCustomer, 'l', { as: 'customer' })

/**
 * SQL: the earliest open entry of a lead `l` in a table. Orders only by date, as the index of the open
 * entries of a lead does. For an order by date and id, PostgreSQL could read the open entries of the whole
 * account, because their index has this order.
 */
const selectFirstEntry = (table: string, kind: string): string => `
  SELECT '${kind}' AS kind, e.id, e.date, e.user_id FROM ${table} e
  WHERE e.account_id = l.account_id AND e.lead_id = l.id AND ${isOpenEntry('e')} ORDER BY e.date LIMIT 1`

// `item` is null if the stored JSON of the lead has another format than $3. An erased lead has no `next`,
// although its past entries stay open.
const selectItems = statement<ItemRow>('load-managed-items')`
  SELECT CASE WHEN l.json_format = $3 THEN l.json END AS item, ${CUSTOMER.columns}, l.external_id,
    ${DUPLICATE_OF} AS duplicate_of, u.id AS user_id, u.name AS user_name,
    CASE WHEN u.removed_at IS NULL THEN u.email END AS user_email,
    next.kind, next.id AS entry_id, next.date, next.user_id AS entry_user_id
  FROM unnest($2::bigint[]) WITH ORDINALITY AS asked (number, ord)
  JOIN leads l ON l.account_id = $1 AND l.number = asked.number
  LEFT JOIN users u ON u.account_id = l.account_id AND u.id = l.user_id
  LEFT JOIN LATERAL (
    SELECT * FROM (
      (${selectFirstEntry('appointments', 'appointment')}) UNION ALL (${selectFirstEntry('callbacks', 'callback')})
    ) entries ORDER BY date, kind LIMIT 1
  ) next ON l.erased_at IS NULL
  ORDER BY asked.ord`

interface ItemRow extends Row {
  item: string | null
  external_id: string | null
  duplicate_of: string | null
  user_id: number | null
  user_name: string
  /** null if the user was removed. */
  user_email: string | null
  kind: 'appointment' | 'callback' | null
  entry_id: number
  date: string
  entry_user_id: number
}

const readUser = ({ user_id: id, user_name: name, user_email: email }: ItemRow) =>
  id === null ? null : { id, name, email }

const readNext = ({ kind, entry_id: id, date, entry_user_id: user_id }: ItemRow) =>
  kind === null ? null : { kind, id, date, user_id }

const renderItem = (item: string, row: ItemRow): string => {
  const { external_id, duplicate_of } = row
  const more = {
    customer: CUSTOMER.read(row),
    user: readUser(row),
    next: readNext(row),
    duplicate_of,
    external_id,
  }
  return `${item.slice(0, -1)},${JSON.stringify(more).slice(1)}`
}

/**
 * Loads leads of an account as a JSON array, in the order of `numbers`. The list items have the further
 * fields of the management interface.
 */
export const loadManagedItems = async (
  db: Transaction,
  { accountId, numbers, jsonFormat }: { accountId: number; numbers: number[]; jsonFormat: number },
): Promise<Buffer> => {
  const rows = await selectItems(db, accountId, numbers, jsonFormat)
  const isOutdated = rows.some(({ item }) => item === null)
  const items = isOutdated
    ? await loadItemsFromColumns(db, accountId, numbers)
    : rows.map(({ item }) => item!)
  return Buffer.from(`[${rows.map((row, index) => renderItem(items[index]!, row)).join(',')}]`)
}
