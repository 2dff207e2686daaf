import type { AddNoteRequest } from '@leadwire/contracts'
import { answerUnderKey, ServiceError, statement, theRow } from '@leadwire/service-kit'
import { replaceSearchTerms } from '../../jobs/search/write-terms'
import type { Dependencies, Operation } from '../../operation'
import { recordChange } from '../../outbox/record-change'
import { type RecordingTransaction, recordingTransaction } from '../../outbox/record-events'
import { type ActorRow, findActor } from '../history/list-lead-history'
import { lockToChange } from '../history/lock-lead'
import { recordChangedLead } from '../history/record-changed-lead'
import { listRecords, selectRecords } from '../read/lead-records'
import { requireUnerased } from '../read/lead-rows'

// Each operation that writes a note locks the lead against other changes, and then the search progress. The
// lock on the lead keeps the number of notes within its limit. Notes are not part of Retrieve Lead, so these
// operations neither raise the version of the lead nor write its history.

/** The maximum number of notes of a lead. */
const MAX_NOTES = 1000

/** SQL: the public columns of a note `t`, with the present name of the author. */
const NOTE_COLUMNS = `t.id, t.text, t.created_at, t.updated_at, t.user_id, t.token_id,
  (SELECT name FROM users WHERE account_id = t.account_id AND id = t.user_id) AS user_name,
  (SELECT name FROM tokens WHERE id = t.token_id) AS token_name`

interface NoteRow extends ActorRow {
  id: number
  text: string
  created_at: string
  /** The time of the last change of the text. null until then. */
  updated_at: string | null
}

const noteJson = (row: NoteRow): string => {
  const { id, text, created_at, updated_at } = row
  return JSON.stringify({ id, text, author: findActor(row), created_at, updated_at })
}

const count = statement<{ count: number }>('count-notes')`
  SELECT count(*)::int AS count FROM notes WHERE account_id = $1 AND lead_id = $2`

const insert = statement<NoteRow>('add-note')`
  INSERT INTO notes AS t (account_id, lead_id, text, user_id, token_id)
  VALUES ($1, $2, $3, $4, $5)
  RETURNING ${NOTE_COLUMNS}`

// A request with the stored text changes nothing, so that a repeated request has no effect.
const update = statement<NoteRow>('update-note')`
  UPDATE notes AS t
  SET text = $4, updated_at = CASE WHEN text = $4 THEN updated_at ELSE clock_timestamp() END
  WHERE account_id = $1 AND lead_id = $2 AND id = $3
  RETURNING ${NOTE_COLUMNS}`

const remove = statement<NoteRow>('delete-note')`
  DELETE FROM notes AS t WHERE account_id = $1 AND lead_id = $2 AND id = $3
  RETURNING ${NOTE_COLUMNS}`

/** Throws `invalid` if a locked lead has the maximum number of notes. */
const requireRoomForNote = async (
  tx: RecordingTransaction,
  accountId: number,
  leadId: number,
): Promise<void> => {
  const [notes] = await count(tx, accountId, leadId)
  if (notes!.count < MAX_NOTES) return
  const limit = MAX_NOTES.toLocaleString('en-GB')
  throw ServiceError.invalid({
    notes: [`A lead may not have more than ${limit} notes. Delete notes that are no longer needed.`],
  })
}

const insertNote = async (
  tx: RecordingTransaction,
  request: AddNoteRequest,
  actor: Dependencies['actor'],
): Promise<Buffer> => {
  const { accountId, text } = request
  const lead = await requireUnerased(tx, lockToChange, request)
  await requireRoomForNote(tx, accountId, lead.id)
  const [row] = await insert(tx, accountId, lead.id, text, actor?.userId ?? null, actor?.tokenId ?? null)
  await replaceSearchTerms(tx, accountId, lead.number)
  recordChangedLead(tx, accountId, lead.id)
  const json = noteJson(row!)
  const data = `${json.slice(0, -1)},"lead_reference":"${lead.reference}"}`
  recordChange(tx, { accountId, lead, type: 'note.added', at: row!.created_at, data })
  return Buffer.from(`{"data":${json}}`)
}

/**
 * Adds a note to a lead. Throws `not_found` if there is no such lead, `lead_erased` if the lead was erased,
 * and `invalid` if it has the maximum number of notes.
 */
export const addNote: Operation<'addNote'> = (deps, request) => {
  const { idempotency, reference } = request
  return recordingTransaction(deps, (tx) =>
    answerUnderKey(tx, idempotency, () => insertNote(tx, request, deps.actor), reference),
  )
}

export const listNotes: Operation<'listNotes'> = listRecords(
  'notes',
  selectRecords('notes', NOTE_COLUMNS),
  noteJson,
)

/** Replaces the text of a note. Throws `not_found` if the lead has no such note, and `lead_erased`. */
export const updateNote: Operation<'updateNote'> = ({ database }, request) =>
  database.transaction(async (tx) => {
    const { accountId, id, text } = request
    const lead = await requireUnerased(tx, lockToChange, request)
    const note = theRow(await update(tx, accountId, lead.id, id, text), 'note')
    await replaceSearchTerms(tx, accountId, lead.number)
    return { body: Buffer.from(`{"data":${noteJson(note)}}`) }
  })

/** Deletes a note, and returns it. Throws `not_found` if the lead has no such note, and `lead_erased`. */
export const deleteNote: Operation<'deleteNote'> = ({ database }, request) =>
  database.transaction(async (tx) => {
    const { accountId, id } = request
    const lead = await requireUnerased(tx, lockToChange, request)
    const note = theRow(await remove(tx, accountId, lead.id, id), 'note')
    await replaceSearchTerms(tx, accountId, lead.number)
    recordChangedLead(tx, accountId, lead.id)
    return { body: Buffer.from(`{"data":${noteJson(note)}}`) }
  })
