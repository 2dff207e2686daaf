import { text } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { readIdempotency, renderSaved } from '../api/call-limits'
import { findLead } from '../api/find-lead'
import { findRecord } from '../api/find-record'
import { leadListOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import {
  Actor,
  described,
  LeadParams,
  named,
  nullableTimestamp,
  orNull,
  recordResponse,
  timestamp,
} from '../api/schemas'
import { readBody } from '../body/parse-body'

export const Note = described('Note', 'A note on a lead, such as the result of a call.', {
  id: Type.Integer({ examples: [1] }),
  text: Type.String({ examples: ['Called back. Wants three bay windows in oak.'] }),
  author: orNull(
    Actor,
    'The user or the token that added the note, with its present name. null if neither is recorded.',
  ),
  created_at: timestamp('When the note was added.'),
  updated_at: nullableTimestamp('When the text was last changed. null if it was never changed.'),
})

const NoteFields = named('NoteRequest', {
  text: text('Text of the note. May have several lines.', 'Called back. Wants three bay windows in oak.', {
    maxLength: 10_000,
    format: 'lines',
  }),
})

const NoteParams = Type.Object({
  ...LeadParams.properties,
  id: Type.Integer({ minimum: 1, description: 'The ID of the note.', examples: [1] }),
})

export const listNotes = leadListOperation({
  route: 'GET /manage/leads/:reference/notes',
  summary: "List a lead's notes",
  record: Note,
  find: ({ clients, limits }, asked) => clients.leads.listNotes(asked, limits),
})

export const addNote = operation({
  route: 'POST /manage/leads/:reference/notes',
  summary: 'Add a note to a lead',
  description:
    'Adds a note and sends the event `note.added`. The version and `updated_at` of the lead do not change. `q` of GET /leads finds the lead by the words of its newest notes. A lead has at most 1,000 notes (422).',
  idempotent: true,
  problems: ['lead-erased'],
  body: NoteFields,
  answer: recordResponse(Note, 'The added note.'),
  handler: async (call) => {
    const { request, reply, clients, limits } = call
    const idempotency = readIdempotency(request, readBody(request).fields)
    const key = call.leadKey()
    const fields = await call.valid(() => findLead(call))
    return renderSaved(reply, await clients.leads.addNote({ ...key, ...fields, idempotency }, limits))
  },
})

export const updateNote = operation({
  route: 'PATCH /manage/leads/:reference/notes/:id',
  summary: 'Change the text of a note',
  description:
    'Replaces the text of a note, whoever added it, and sets `updated_at`. The author does not change. Sends no event. If the text is the same, nothing changes.',
  params: NoteParams,
  problems: ['lead-erased'],
  body: NoteFields,
  answer: recordResponse(Note, 'The changed note.'),
  handler: async (call) => {
    const { clients, limits } = call
    const key = call.leadKey()
    const id = call.pathId()
    const list = (before: number) => clients.leads.listNotes({ ...key, before }, limits)
    const fields = await call.valid(() => findRecord(id, list))
    return (await clients.leads.updateNote({ ...key, id, ...fields }, limits)).body
  },
})

export const deleteNote = operation({
  route: 'DELETE /manage/leads/:reference/notes/:id',
  summary: 'Delete a note',
  description: 'Permanently deletes a note, whoever added it. Sends no event.',
  params: NoteParams,
  problems: ['lead-erased'],
  answer: recordResponse(Note, 'The deleted note.'),
  handler: async ({ leadKey, pathId, clients, limits }) =>
    (await clients.leads.deleteNote({ ...leadKey(), id: pathId() }, limits)).body,
})
