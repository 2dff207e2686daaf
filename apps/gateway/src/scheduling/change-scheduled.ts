import type { EntryChange, ListAppointmentsRequest } from '@leadwire/contracts'
import { describe, parseLocalInstant, partial } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { findRecord } from '../api/find-record'
import { type Call, operation } from '../api/operation'
import { LeadParams, namedPartial, recordResponse } from '../api/schemas'
import { ScheduledRecord, ScheduleFields, SUBJECTS, type Subject } from './schedule'

const { notify: _, remind: __, ...movable } = ScheduleFields.properties

const notify = (description: string) => Type.Boolean(describe(description, true))

const RescheduleFields = namedPartial('RescheduleRequest', {
  ...movable,
  notify: notify(
    'Whether to send the changed invitation to the assigned user, and a cancellation to a user who is no longer assigned. Default false. If the appointment or callback is done, nothing is sent.',
  ),
  done: Type.Boolean(
    describe('true marks the appointment or callback as done. false opens it again.', false),
  ),
  remind: Type.Boolean(
    describe(
      'Whether to send the assigned user a reminder by email when the appointment or callback is due.',
      true,
    ),
  ),
})

const CancelQuery = partial({
  notify: notify('Whether to withdraw the invitation by sending the user a cancellation. Default false.'),
})

type ChangeEntry = (call: Call<unknown>, change: EntryChange) => Promise<{ body: Uint8Array }>

const listEntries = (subject: Subject, { clients, limits }: Call<unknown>, asked: ListAppointmentsRequest) =>
  subject === 'appointment'
    ? clients.leads.listAppointments(asked, limits)
    : clients.leads.listCallbacks(asked, limits)

/** Throws `not_found` if the lead or the entry in the path does not exist. */
const findEntry = (
  subject: Subject,
  call: Call<unknown>,
  { id, ...lead }: { accountId: number; reference: string; id: number },
): Promise<void> => findRecord(id, (before) => listEntries(subject, call, { ...lead, before }))

const describedFor = (subject: Subject) => ({
  tag: 'Scheduling',
  params: Type.Object({
    ...LeadParams.properties,
    id: Type.Integer({ minimum: 1, description: `The ID of the ${subject}.`, examples: [1] }),
  }),
  problems: ['lead-erased' as const],
  answer: recordResponse(ScheduledRecord, `The updated ${subject}.`),
})

const rescheduleOperation = (subject: Subject, change: ChangeEntry) =>
  operation({
    ...describedFor(subject),
    route: `PATCH /leads/:reference/${subject}s/:id`,
    summary: `Reschedule ${SUBJECTS[subject]}`,
    description: `Updates the fields in the request. Omitted fields keep their values. The status of the lead does not change. \`done\` sets or clears \`done_at\`, and sends no webhook. \`remind\` sends no webhook either. A cancelled ${subject} can't be changed (422). The date and the user of a done ${subject} can be changed only with \`"done": false\` (otherwise 422).`,
    body: RescheduleFields,
    handler: async (call) => {
      const key = { ...call.leadKey(), id: call.pathId() }
      const given = await call.valid(() => findEntry(subject, call, key))
      const { date, user_id: userId, notify = false, done, remind } = given
      const instant = date === undefined ? undefined : parseLocalInstant(date, call.dependencies.timeZone)!
      return (await change(call, { ...key, date: instant, userId, notify, done, remind })).body
    },
  })

const cancelOperation = (subject: Subject, change: ChangeEntry) =>
  operation({
    ...describedFor(subject),
    route: `DELETE /leads/:reference/${subject}s/:id`,
    summary: `Cancel ${SUBJECTS[subject]}`,
    description: `Cancels the ${subject}, which stays in the list of the lead. Repeating the request returns the same response and sends no message. A done ${subject} can't be cancelled (422).`,
    query: CancelQuery,
    handler: async (call) => {
      const key = { ...call.leadKey(), id: call.pathId() }
      const { notify = false } = await call.valid(() => findEntry(subject, call, key))
      return (await change(call, { ...key, notify })).body
    },
  })

export const rescheduleAppointment = rescheduleOperation('appointment', ({ clients, limits }, change) =>
  clients.leads.rescheduleAppointment({ change }, limits),
)

export const rescheduleCallback = rescheduleOperation('callback', ({ clients, limits }, change) =>
  clients.leads.rescheduleCallback({ change }, limits),
)

export const cancelAppointment = cancelOperation('appointment', ({ clients, limits }, change) =>
  clients.leads.cancelAppointment({ change }, limits),
)

export const cancelCallback = cancelOperation('callback', ({ clients, limits }, change) =>
  clients.leads.cancelCallback({ change }, limits),
)
