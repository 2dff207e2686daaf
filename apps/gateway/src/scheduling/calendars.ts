import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { type CalendarEntry, oneLine, SCHEDULED_MINUTES } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import ical, { type ICalEventData } from 'ical-generator'
import { holdPlace } from '../admission/admission'
import { operation } from '../api/operation'
import { dataOf, named, timestamp } from '../api/schemas'
import { isKnown } from '../http/entity-tags'
import { UserRecord, userOf } from '../users/users'

/** As much as a call of a service that is not batched. */
const COST = 4

const UserCalendar = named('UserCalendar', {
  url: Type.String({
    format: 'uri',
    description:
      'Anyone with this address can read the calendar, without a token. Shown only here. Programs that want `webcal:` take it in place of `https:`.',
    examples: ['https://api.example.com/calendars/lw_cal_2vJ8.ics'],
  }),
  created_at: timestamp('When it was made.'),
})

export const createUserCalendar = operation({
  route: 'POST /manage/users/:id/calendar',
  summary: "Make the address of a user's calendar",
  description:
    "A calendar that programs can subscribe to, with the user's appointments and callbacks. An address made before stops working.",
  savesResponse: true,
  answer: dataOf(UserCalendar, 'The address.'),
  handler: async ({ pathId, accountId, clients, limits, dependencies, request }) => {
    const key = { accountId, userId: pathId() }
    const { user, secret } = await clients.accounts.createUserCalendar(key, limits)
    return {
      url: `${dependencies.addressOf(request)}/calendars/${secret}.ics`,
      created_at: user!.calendarCreatedAt,
    }
  },
})

export const revokeUserCalendar = operation({
  route: 'DELETE /manage/users/:id/calendar',
  summary: "Revoke the address of a user's calendar",
  description: 'It stops working at once.',
  answer: dataOf(UserRecord, 'The user, without a calendar.'),
  handler: async ({ pathId, accountId, clients, limits }) =>
    userOf(await clients.accounts.revokeUserCalendar({ accountId, userId: pathId() }, limits)),
})

const TITLES: Record<string, string> = { appointment: 'Appointment', callback: 'Callback' }

const eventOf = ({ subject, id, date, sequence, changedAt, ...of }: CalendarEntry) => {
  const start = new Date(date)
  const rows = [
    ['Customer', of.customerName],
    ['Phone', of.customerPhone],
    ['E-mail', of.customerEmail],
    ['Postcode', of.customerPostcode],
    ['Reference', of.leadReference],
  ]
  return {
    id: `${subject}-${id}@leadwire`,
    sequence,
    stamp: new Date(changedAt),
    start,
    end: new Date(start.getTime() + SCHEDULED_MINUTES[subject]! * 60_000),
    summary: `${TITLES[subject]}: ${oneLine(of.leadName)}`,
    description: rows.map(([label, value]) => `${label}: ${oneLine(value!)}`).join('\n'),
  }
}

/** Events that are rendered at once. Each takes 0.2 ms, and other requests wait meanwhile (seen with 1,500 events). */
const BATCH = 50
const END = 'END:VCALENDAR'

/** RFC 5545, its instants in UTC. The same entries make the same bytes. */
const calendarOf = async (title: string, entries: CalendarEntry[]): Promise<string> => {
  // The library escapes all texts but this one.
  const name = title.replace(/[\\;,]/g, '\\$&')
  const rendered = (events: ICalEventData[]) =>
    ical({ name, prodId: '//Leadwire//Leadwire//EN', ttl: 3600, events }).toString()
  const start = rendered([]).slice(0, -END.length)
  let text = start
  for (let at = 0; at < entries.length; at += BATCH) {
    text += rendered(entries.slice(at, at + BATCH).map(eventOf)).slice(start.length, -END.length)
    await setImmediate()
  }
  return `${text}${END}\r\n`
}

export const readCalendar = operation({
  route: 'GET /calendars/:secret.ics',
  tag: 'Scheduling',
  summary: "Read a user's calendar",
  description:
    'The address is the secret. Appointments and callbacks of the last 90 days (the newest 100 of each) and of the future (the next 250 of each), without those that were cancelled or whose lead was erased.',
  scope: null,
  params: Type.Object({ secret: Type.String({ examples: ['lw_cal_…'] }) }),
  etag: 'read',
  answer: { description: 'The calendar (iCalendar, RFC 5545).', types: ['text/calendar'] },
  handler: async ({ request, reply, clients, limits, dependencies }) => {
    const { secret } = request.params as { secret: string }
    const asked = { hash: hash('sha256', secret, 'buffer') }
    const { accountId, userId, userName } = await clients.leads.findCalendar(asked, limits)
    await holdPlace(reply, dependencies.admission.requests(accountId, COST))
    const { entries } = await clients.leads.listCalendarEntries({ accountId, userId }, limits)
    const etag = `"${hash('sha256', JSON.stringify([userName, entries]), 'base64url')}"`
    reply.headers({ etag, 'cache-control': 'private, no-cache' })
    if (isKnown(request, etag)) return void reply.code(304)
    const content = Buffer.from(await calendarOf(`Leadwire: ${oneLine(userName)}`, entries))
    reply.headers({ 'content-type': 'text/calendar; charset=utf-8', 'content-length': content.length })
    return request.method === 'HEAD' ? undefined : Readable.from([content])
  },
})
