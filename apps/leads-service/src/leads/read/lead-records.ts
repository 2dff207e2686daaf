import type { Database } from '@leadwire/service-kit'
import { isId, isUuid, validate } from '../../arguments'
import { leadNotFound } from './lead-result'

/** How many records one answer has at most. */
const LIMIT = 100

const FIND_LEAD = 'SELECT id, reference FROM leads WHERE reference = $2 AND account_id = $1'

/**
 * Two statements of a transaction. The second reads a range of the table's index on (account_id, lead_id, id), and one row more
 * than is shown, which shows that there are more. Without the first PostgreSQL, which plans for a lead with few records, reads
 * and sorts all that a lead has (seen with 120).
 */
export const selectRecords = (table: string, columns: string): [setting: string, select: string] => [
  'SET LOCAL enable_sort = off',
  `SELECT ${columns} FROM ${table} t
  WHERE t.account_id = $1 AND t.lead_id = $2 AND t.id < $3
  ORDER BY t.id DESC LIMIT ${LIMIT + 1}`,
]

interface Records<Row> {
  table: string
  /** Of the table as `t`, its id among them. */
  columns: string
  /** The public JSON of a row. */
  jsonOf: (row: Row, reference: string) => string
}

interface Asked {
  accountId: number
  reference: string
  before?: number | undefined
}

/** What belongs to a lead, newest first: a JSON array of the records with an id below `before`. Throws not_found. */
export const listRecords = async <Row extends { id: number }>(
  database: Database,
  { table, columns, jsonOf }: Records<Row>,
  { accountId, reference, before = Number.MAX_SAFE_INTEGER }: Asked,
): Promise<{ items: Buffer; nextBefore: number | undefined }> => {
  validate({ account_id: isId(accountId), before: isId(before) })
  if (!isUuid(reference)) throw leadNotFound()
  return database.transaction(async (tx) => {
    const [lead] = await tx.query<{ id: number; reference: string }>({
      name: 'find-lead-of-records',
      text: FIND_LEAD,
      values: [accountId, reference],
    })
    if (!lead) throw leadNotFound()
    const [setting, select] = selectRecords(table, columns)
    tx.send({ text: setting })
    const rows = await tx.query<Row>({
      name: `list-${table}`,
      text: select,
      values: [accountId, lead.id, before],
    })
    const shown = rows.slice(0, LIMIT)
    return {
      items: Buffer.from(`[${shown.map((row) => jsonOf(row, lead.reference)).join(',')}]`),
      nextBefore: rows.length > LIMIT ? shown.at(-1)!.id : undefined,
    }
  })
}
