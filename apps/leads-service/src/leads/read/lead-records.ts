import type { ListAppointmentsRequest } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { firstPage } from '../../database/page'
import type { Dependencies } from '../../operation'
import { requireLead } from './lead-rows'

/** The maximum number of records in a response. Statements read one more, which shows whether more follow. */
export const LIMIT = 100

const findLead = statement<{ id: number; reference: string }>('find-lead-of-records')`
  SELECT id, reference FROM leads WHERE reference = $2 AND account_id = $1`

// PostgreSQL plans for a lead with few records. Without this setting, PostgreSQL would read and sort all
// records of a lead (seen with 120 records).
export const SETTING = 'SET LOCAL enable_sort = off'

/**
 * Returns SQL that reads a range of the table's index on (account_id, lead_id, id). `columns` must refer to
 * the table as `t`.
 */
export const selectRecords = (table: string, columns: string): string => `
  SELECT ${columns} FROM ${table} t
  WHERE t.account_id = $1 AND t.lead_id = $2 AND t.id < $3
  ORDER BY t.id DESC LIMIT ${LIMIT + 1}`

/**
 * Makes an operation that lists records of a lead, newest first. The operation returns a JSON array of the
 * records with ids below `before`, at most LIMIT of them. The parameters of `select` are the account, the
 * lead and `before`. The operation throws `not_found` if there is no such lead.
 */
export const listRecords = <Row extends { id: number }, Asked extends ListAppointmentsRequest>(
  what: string,
  select: string,
  renderRecord: (row: Row, reference: string, asked: Asked) => string,
) => {
  const list = statement<Row>(`list-${what}`)`${select}`
  return ({ database }: Dependencies, asked: Asked) => {
    const { accountId, before = Number.MAX_SAFE_INTEGER } = asked
    return database.transaction(async (tx) => {
      const lead = await requireLead(tx, findLead, asked)
      tx.send({ text: SETTING })
      const { shown, last } = firstPage(await list(tx, accountId, lead.id, before), LIMIT)
      const items = shown.map((row) => renderRecord(row, lead.reference, asked))
      return { items: Buffer.from(`[${items}]`), nextBefore: last?.id }
    })
  }
}
