import type { Actor, EraseLeadRequest, EraseLeadResponse } from '@leadwire/contracts'
import { type Database, type OpenTransaction, recordAudit } from '@leadwire/service-kit'
import { isActor, isId, isUuid, validate } from '../../arguments'
import { recordLeadChange } from '../../leads/history/record-lead-change'
import { type JsonSettings, leadJsonOf, leadNotFound } from '../../leads/read/lead-response'
import { leadsFromColumns } from '../../leads/read/lead-rows'
import { lockProgress } from '../search/write-terms'
import { ERASED_ROWS } from './erased-rows'
import { type ErasedPlace, type LooseEvent, receiptOf } from './erasure'
import { PLACES } from './places'

interface LockedLead {
  id: number
  number: number
  reference: string
  version: number
  erased: boolean
  now: string
}

// FOR UPDATE, for which those wait that add something to the lead (`lock-lead.ts`). The clock is read when the row is locked, so
// that the transaction has its id before: change-horizon.ts counts on it.
const LOCK = `
  SELECT id, number, reference, version, erased_at IS NOT NULL AS erased,
    greatest(clock_timestamp(), updated_at) AS now
  FROM (SELECT * FROM leads WHERE reference = $2 AND account_id = $1 FOR UPDATE) l`

// An event that the relay is publishing is waited for.
const TAKE_EVENTS = `
  DELETE FROM outbox WHERE lead_reference = $2 AND account_id = $1 RETURNING event_id AS id, sequence`

const SEAL = `
  UPDATE leads SET erased_at = $3, updated_at = $3, version = version + 1, json_format = $4, json = $5, json_details = $6
  WHERE account_id = $1 AND id = $2`

const INSERT = `
  INSERT INTO erasures (account_id, lead_id, requested_at, places, events, due_at)
  VALUES ($1, $2, $3, $4, $5, clock_timestamp())`

type Deps = JsonSettings & {
  database: Database
  actor?: Actor | undefined
  backupRetentionDays: number | undefined
}

const eraseRows = async (tx: OpenTransaction, accountId: number, lead: LockedLead) => {
  // Who has read the lead to write its words has committed them then, or waits and reads it empty: none come back.
  await lockProgress(tx, accountId, { skip: false })
  const places: ErasedPlace[] = []
  const erased = (what: string, count: number) =>
    places.push({ store: 'postgresql', what, count, erased_at: lead.now })
  for (const { what, text, by } of ERASED_ROWS) {
    const counted = `WITH erased AS (${text} RETURNING 1) SELECT count(*)::int AS count FROM erased`
    const [row] = await tx.query<{ count: number }>({ text: counted, values: [accountId, lead[by]] })
    erased(what, row!.count)
  }
  const events = await tx.query<LooseEvent>({ text: TAKE_EVENTS, values: [accountId, lead.reference] })
  erased('outbox_events', events.length)
  return { places, events }
}

const seal = async (tx: OpenTransaction, accountId: number, lead: LockedLead, deps: Deps) => {
  const leads = await leadsFromColumns(tx, new Map([[lead.id, { accountId }]]), deps.assetsUrl)
  const { format, item, details } = leadJsonOf(
    { ...leads.get(lead.id)!, updated_at: lead.now },
    deps.jsonFormat,
  )
  tx.send({ text: SEAL, values: [accountId, lead.id, lead.now, format, item, details] })
}

const erase = async (tx: OpenTransaction, accountId: number, lead: LockedLead, deps: Deps) => {
  const { actor } = deps
  const { places, events } = await eraseRows(tx, accountId, lead)
  await seal(tx, accountId, lead, deps)
  const { id: leadId, now: at } = lead
  recordLeadChange(tx, {
    ...{ accountId, leadId, version: lead.version + 1, actor, changes: [], at },
    action: 'erased',
  })
  recordAudit(tx, actor, { accountId, action: 'lead.erased', targetId: leadId })
  const waiting = PLACES.flatMap(({ erases }) =>
    erases.map((place) => ({ ...place, count: null, erased_at: null })),
  )
  const receipt = [JSON.stringify([...places, ...waiting]), JSON.stringify(events)]
  tx.send({ text: INSERT, values: [accountId, leadId, at, ...receipt] })
}

/**
 * Erases the personal data of a lead: here at once, elsewhere by a job (`run-erasures.ts`), whose state is in the receipt. Number,
 * reference, status, value and times stay. Erased before: the same receipt. Throws not_found.
 */
export const eraseLead =
  (deps: Deps) =>
  ({ accountId, reference }: EraseLeadRequest): Promise<EraseLeadResponse> =>
    deps.database.transaction(async (tx) => {
      validate({ account_id: isId(accountId), actor: deps.actor === undefined || isActor(deps.actor) })
      if (!isUuid(reference)) throw leadNotFound()
      const [lead] = await tx.query<LockedLead>({
        name: 'lock-lead-to-erase',
        text: LOCK,
        values: [accountId, reference],
      })
      if (!lead) throw leadNotFound()
      if (!lead.erased) await erase(tx, accountId, lead, deps)
      return { body: (await receiptOf(tx, { accountId, reference }, deps.backupRetentionDays))! }
    })
