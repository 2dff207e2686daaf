import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { type CalendarEntry, oneLine, SCHEDULED_MINUTES } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import ical, { type ICalEventData } from 'ical-generator'
import { UNARY_CALL_COST } from '../admission/admission'
import { operation } from '../api/operation'
import { named, nullableTimestamp, recordResponse, timestamp } from '../api/schemas'
import { isKnown } from '../http/entity-tags'
import { renderUser, UserRecord } from '../users/users'

const UserCalendar = named('UserCalendar', {
  url: Type.String({
    format: 'uri',
    description:
      'URL of the calendar, shown only in this response. Anyone with the URL can read the calendar without a token. Replace `https:` with `webcal:` for programs that need this scheme.',
    examples: ['https://api.example.com/calendars/lw_cal_2vJ8.ics'],
  }),
  created_at: timestamp('When the calendar URL was created.'),
  expires_at: nullableTimestamp(
    'When the URL expires, together with the token that created it. null if this token does not expire.',
  ),
})

export const createUserCalendar = operation({
  route: 'POST /manage/users/:id/calendar',
  summary: 'Create the calendar URL of a user',
  description:
    "Creates the URL of a calendar with the user's appointments and callbacks, for calendar programs to subscribe to. An earlier URL of the user stops working. The URL works until the user is removed or the URL is revoked. If the token of this request has an expiry, the URL also stops working when the token expires or is revoked.",
  savesResponse: true,
  answer: recordResponse(UserCalendar, 'The calendar URL.'),
  handler: async ({ pathId, accountId, clients, limits, dependencies }) => {
    const key = { accountId, userId: pathId() }
    const { user, secret } = await clients.accounts.createUserCalendar(key, limits)
    return {
      url: `${dependencies.configuredAddress}/calendars/${secret}.ics`,
      created_at: user!.calendarCreatedAt,
      expires_at: user!.calendarExpiresAt ?? null,
    }
  },
})

export const revokeUserCalendar = operation({
  route: 'DELETE /manage/users/:id/calendar',
  summary: 'Revoke the calendar URL of a user',
  description: 'The URL stops working at once.',
  answer: recordResponse(UserRecord, 'The user, without a calendar.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const { user } = await clients.accounts.revokeUserCalendar({ accountId, userId: pathId() }, limits)
    return renderUser(user!)
  },
})

const TITLES: Record<string, string> = { appointment: 'Appointment', callback: 'Callback' }

const toCalendarEvent = ({ subject, id, date, sequence, changedAt, ...of }: CalendarEntry) => {
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

/**
 * The number of events that are rendered in one iteration of the event loop. Rendering an event takes 0.2 ms
 * (measured with 1,500 events), so other requests wait for at most 10 ms.
 */
const BATCH = 50
const END = 'END:VCALENDAR'

/** Renders a calendar (RFC 5545) with times in UTC. Equal entries give equal bytes. */
const renderCalendar = async (title: string, entries: CalendarEntry[]): Promise<string> => {
  // Escapes the name. The library escapes all other texts, but not the name.
  const name = title.replace(/[\\;,]/g, '\\$&')
  const rendered = (events: ICalEventData[]) =>
    ical({ name, prodId: '//Leadwire//Leadwire//EN', ttl: 3600, events }).toString()
  const start = rendered([]).slice(0, -END.length)
  let text = start
  for (let at = 0; at < entries.length; at += BATCH) {
    text += rendered(entries.slice(at, at + BATCH).map(toCalendarEvent)).slice(start.length, -END.length)
    await setImmediate()
  }
  return `${text}${END}\r\n`
}

export const readCalendar = operation({
  route: 'GET /calendars/:secret.ics',
  tag: 'Scheduling',
  summary: "Read a user's calendar",
  description:
    "Returns the calendar of a user. The URL is the secret: no token is needed. The calendar has the user's name. Each entry has its kind, time and duration, the lead's name and reference, and the customer's name, telephone number, email address and postcode. The calendar covers appointments and callbacks of the last 90 days (the newest 100 of each) and of the future (the next 250 of each), except cancelled entries and entries of erased leads.",
  scope: null,
  params: Type.Object({ secret: Type.String({ examples: ['lw_cal_…'] }) }),
  etag: 'read',
  answer: { description: 'The calendar (iCalendar, RFC 5545).', types: ['text/calendar'] },
  handler: async ({ request, reply, clients, limits, dependencies }) => {
    const { secret } = request.params as { secret: string }
    const asked = { hash: hash('sha256', secret, 'buffer') }
    const { accountId, userId, userName } = await clients.leads.findCalendar(asked, limits)
    await dependencies.admission.admitRequest(reply, { bodyBytes: 0, callCost: UNARY_CALL_COST, accountId })
    const { entries } = await clients.leads.listCalendarEntries({ accountId, userId }, limits)
    const etag = `"${hash('sha256', JSON.stringify([userName, entries]), 'base64url')}"`
    reply.headers({ etag, 'cache-control': 'private, no-cache' })
    if (isKnown(request, etag)) return void reply.code(304)
    const content = Buffer.from(await renderCalendar(`Leadwire: ${oneLine(userName)}`, entries))
    reply.headers({ 'content-type': 'text/calendar; charset=utf-8', 'content-length': content.length })
    return request.method === 'HEAD' ? undefined : Readable.from([content])
  },
})
