import type { Readable } from 'node:stream'
import { type AdvanceImportRequest, type ClaimedImport, type ImportRow, leadCost } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import type { Static } from '@sinclair/typebox'
import { newVisitorLead } from '../../leads/visitor-lead'
import type { VisitorLead } from '../../leads/visitor-lead-fields'
import type { Body, Checked } from '../../validation/checker'
import { csvRows } from './csv-rows'
import { ndjsonRows } from './ndjson-rows'
import { type Row, UnreadableFile } from './rows'

/** The rows of one transaction, for which the next create of the account waits. */
const BATCH_ROWS = 100
const BATCH_COST = 300
/** How many fields of a refused row are kept. */
const MAX_ERRORS = 20

export type CheckRow = (body: Body) => Checked<Static<typeof VisitorLead>>

type Batch = Pick<AdvanceImportRequest, 'to' | 'rows' | 'columns' | 'delimiter' | 'finished' | 'failure'>

const refused = (errors: FieldErrors): ImportRow => {
  const kept = Object.fromEntries(Object.entries(errors).slice(0, MAX_ERRORS))
  return { row: { $case: 'faults', value: JSON.stringify(kept) } }
}

/** Checks a row as the body of POST /manage/leads is checked. */
const checkedRow = ({ read }: Row, { visitor }: ClaimedImport, check: CheckRow): ImportRow => {
  try {
    const body = read()
    const { value, errors } = check(body)
    return errors ? refused(errors) : { row: { $case: 'lead', value: newVisitorLead(visitor!, value, body) } }
  } catch (error) {
    if (error instanceof ServiceError) return refused({ row: [error.detail] })
    throw error
  }
}

const costOf = ({ row }: ImportRow): number =>
  row?.$case === 'lead' ? leadCost({ lead: row.value } as Parameters<typeof leadCost>[0]) : 1

/**
 * The rest of an import's file in batches of rows, each for one transaction. The last is finished, or says why the file can't be read
 * on. `bytes` begin at the import's position.
 */
export async function* batchesOf(
  claimed: ClaimedImport,
  bytes: Readable,
  check: CheckRow,
): AsyncGenerator<Batch> {
  const { columns, delimiter, position, fileSize, format } = claimed
  const header = { columns, delimiter }
  const source = format === 'csv' ? csvRows(bytes, position, header) : ndjsonRows(bytes, position)
  let to = position
  let rows: ImportRow[] = []
  let cost = 0
  const batch = (over: Partial<Batch> = {}): Batch => {
    const taken = { to, rows, ...header, finished: false, failure: undefined, ...over }
    rows = []
    cost = 0
    return taken
  }
  try {
    for await (const row of source) {
      const checked = checkedRow(row, claimed, check)
      to = row.end
      rows.push(checked)
      cost += costOf(checked)
      if (rows.length >= BATCH_ROWS || cost >= BATCH_COST) yield batch()
    }
    yield batch({ to: fileSize, finished: true })
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    yield batch({ failure: error.message })
  }
}
