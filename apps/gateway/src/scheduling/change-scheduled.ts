import type { EntryChange } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { referenceErrors } from '../api/reference-errors'
import { dataOf, LeadParams, namedPartial } from '../api/schemas'
import { describe, partial } from '../validation/fields'
import { localInstant } from '../validation/local-instant'
import { ScheduledRecord, ScheduleFields, SUBJECTS, type Subject } from './schedule'

const { notify: _, ...movable } = ScheduleFields.properties

const notify = (description: string) => Type.Boolean(describe(description, true))

const RescheduleFields = namedPartial('RescheduleRequest', {
  ...movable,
  notify: notify(
    'Whether to send the user the changed invitation, and one who is no longer assigned a cancellation.',
  ),
})

const CancelQuery = partial({
  notify: notify('Whether to withdraw the invitation: the user gets a cancellation.'),
})

type ChangeEntry = (call: Call<unknown>, change: EntryChange) => Promise<{ body: Uint8Array }>

const describedFor = (subject: Subject) => ({
  tag: 'Scheduling',
  params: Type.Object({
    ...LeadParams.properties,
    id: Type.Integer({ minimum: 1, description: `The ${subject}'s id.`, examples: [1] }),
  }),
  problems: ['lead-erased' as const],
  answer: dataOf(ScheduledRecord, `The ${subject} as it is now.`),
})

/** The lead and the entry of the address, and what of an invalid request is missing beside. */
const entryOf = (call: Call<unknown>, subject: Subject) => {
  const key = { ...call.leadKey(), id: call.pathId() }
  const errors = (fields: Record<string, unknown>) =>
    referenceErrors(call, { userId: fields['user_id'], entry: { [`${subject}Id`]: key.id } })
  return { key, errors }
}

const rescheduleOperation = (subject: Subject, change: ChangeEntry) =>
  operation({
    ...describedFor(subject),
    route: `PATCH /leads/:reference/${subject}s/:id`,
    summary: `Reschedule ${SUBJECTS[subject]}`,
    description:
      'Changes what is given and leaves the rest; the status of the lead too. What was cancelled can not be changed (422).',
    body: RescheduleFields,
    handler: async (call) => {
      const { key, errors } = entryOf(call, subject)
      const { date, user_id: userId, notify = false } = await call.valid(errors)
      const instant = date === undefined ? undefined : localInstant(date, call.dependencies.timeZone)!
      return (await change(call, { ...key, date: instant, userId, notify })).body
    },
  })

const cancelOperation = (subject: Subject, change: ChangeEntry) =>
  operation({
    ...describedFor(subject),
    route: `DELETE /leads/:reference/${subject}s/:id`,
    summary: `Cancel ${SUBJECTS[subject]}`,
    description: 'It stays in the lists. A second cancellation gets the same answer and sends no message.',
    query: CancelQuery,
    handler: async (call) => {
      const { key, errors } = entryOf(call, subject)
      const { notify = false } = await call.valid(errors)
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
