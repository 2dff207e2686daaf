import { type NotificationRequested, oneLine, SCHEDULED_MINUTES } from '@leadwire/contracts'
import ical, { ICalAttendeeStatus, ICalCalendarMethod, ICalEventStatus } from 'ical-generator'
import MailComposer from 'nodemailer/lib/mail-composer'
import MimeNode from 'nodemailer/lib/mime-node'
import type { Sender } from './mail-settings'

interface Content {
  title: string
  greeting: string
  opening: string
  rows: [label: string, value: string][]
}

const SUBJECTS: Record<string, { title: string; opening: string }> = {
  assigned: { title: 'Lead', opening: 'has a lead for you' },
  appointment: { title: 'Appointment', opening: 'has an appointment for you' },
  'appointment.rescheduled': { title: 'Appointment moved', opening: 'has moved an appointment of yours' },
  'appointment.cancelled': {
    title: 'Appointment cancelled',
    opening: 'has cancelled an appointment of yours',
  },
  callback: { title: 'Callback', opening: 'has a callback for you' },
  'callback.rescheduled': { title: 'Callback moved', opening: 'has moved a callback of yours' },
  'callback.cancelled': { title: 'Callback cancelled', opening: 'has cancelled a callback of yours' },
}

/** Waiting deliveries are counted up to here; a message shows no more. */
export const MAX_COUNT = 10_000

const timeIn = (timeZone: string, date: string): string => {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone })
  return `${format.format(new Date(date))} (${timeZone})`
}

const leadContent = (event: NotificationRequested, timeZone: string): Content => {
  const { title, opening } = SUBJECTS[event.subject]!
  return {
    title: `${title}: ${event.leadName}`,
    greeting: `Hello ${event.userName},`,
    opening: `${event.accountName} ${opening}.`,
    rows: [
      ['When', event.date === undefined ? '' : timeIn(timeZone, event.date)],
      ['Lead', event.leadName],
      ['Status', event.leadStatus],
      ['Customer', event.customerName],
      ['Phone', event.customerPhone],
      ['E-mail', event.customerEmail],
      ['Postcode', event.customerPostcode],
      ['Reference', event.leadReference],
    ],
  }
}

const failureContent = (
  accountName: string,
  { address, since, error = '', waiting, disabledAt }: NonNullable<NotificationRequested['failure']>,
  timeZone: string,
): Content => ({
  title: `Webhook endpoint fails: ${address}`,
  greeting: 'Hello,',
  opening: `For 24 hours every attempt to deliver a webhook of ${accountName} to ${address} has failed.`,
  rows: [
    ['Endpoint', address],
    ['Since', timeIn(timeZone, since)],
    ['Error', error],
    ['Waiting', `${waiting > MAX_COUNT ? `more than ${MAX_COUNT}` : waiting} deliveries`],
    [
      'Disabled',
      disabledAt === undefined
        ? 'no: attempts go on'
        : `on ${timeIn(timeZone, disabledAt)}, unless an attempt succeeds before`,
    ],
  ],
})

/** Each text on one line: a line break in a value would look like another row. */
const contentOf = (event: NotificationRequested, timeZone: string): Content => {
  const { failure, accountName } = event
  const content = failure ? failureContent(accountName, failure, timeZone) : leadContent(event, timeZone)
  const { title, greeting, opening } = content
  const rows = content.rows.map(([label, value]): [string, string] => [label, oneLine(value)])
  return {
    ...{ title: oneLine(title), greeting: oneLine(greeting), opening: oneLine(opening) },
    rows: rows.filter(([, value]) => value !== ''),
  }
}

const textOf = ({ greeting, opening, rows }: Content): string =>
  [greeting, '', opening, '', ...rows.map(([label, value]) => `${`${label}:`.padEnd(11)}${value}`), ''].join(
    '\n',
  )

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const htmlOf = ({ greeting, opening, rows }: Content): string => `<!doctype html>
<html lang="en">
<body>
<p>${escapeHtml(greeting)}</p>
<p>${escapeHtml(opening)}</p>
<table cellpadding="4">
${rows.map(([label, value]) => `<tr><th align="left">${label}</th><td>${escapeHtml(value)}</td></tr>`).join('\n')}
</table>
</body>
</html>
`

export interface Message {
  eventId: string
  from: string
  to: string
  content: Buffer
}

// RFC 5545 has no way to write a quotation mark in a name.
const calendarName = (name: string): string => oneLine(name).replaceAll('"', "'")

/** The invitation to an appointment or callback, its change or its cancellation: RFC 5545 and 5546, its instants in UTC. */
const invitationOf = (
  event: NotificationRequested,
  { from, to, text }: { from: Sender; to: string; text: string },
): { method: string; content: string } => {
  // `appointment` or `callback`.
  const entry = event.subject.split('.')[0]!
  const isCancelled = event.subject.endsWith('.cancelled')
  const method = isCancelled ? ICalCalendarMethod.CANCEL : ICalCalendarMethod.REQUEST
  const start = new Date(event.date!)
  const calendar = ical({ method, prodId: '//Leadwire//Leadwire//EN' })
  const attendee = { name: calendarName(event.userName), email: to }
  calendar.createEvent({
    id: `${event.invitationId ?? event.eventId}@leadwire`,
    sequence: event.sequence,
    ...(isCancelled && { status: ICalEventStatus.CANCELLED }),
    stamp: new Date(event.requestedAt),
    start,
    end: new Date(start.getTime() + SCHEDULED_MINUTES[entry]! * 60_000),
    // Not the title of the message: the entry in the calendar keeps its name.
    summary: oneLine(`${SUBJECTS[entry]!.title}: ${event.leadName}`),
    description: text,
    organizer: { name: calendarName(from.name || event.accountName), email: from.address },
    attendees: [{ ...attendee, rsvp: !isCancelled, status: ICalAttendeeStatus.NEEDSACTION }],
  })
  return { method, content: calendar.toString() }
}

/** Text, HTML, and for an appointment or callback the invitation, or its cancellation. The Message-ID is of the event: the same on every attempt. */
export const composeMessage = async (
  event: NotificationRequested,
  { from, timeZone }: { from: Sender; timeZone: string },
): Promise<Message> => {
  const { eventId, userName, userEmail, requestedAt, date } = event
  const content = contentOf(event, timeZone)
  const { title } = content
  const text = textOf(content)
  // As e-mail writes addresses, with ASCII domains: calendars take another spelling for another person.
  const envelope = new MimeNode().setHeader({ from: from.address, to: userEmail }).getEnvelope()
  const [sender, to] = [{ name: from.name, address: String(envelope.from) }, envelope.to[0]!]
  const invitation = () => invitationOf(event, { from: sender, to, text })
  const composer = new MailComposer({
    from: sender,
    to: { name: userName, address: to },
    subject: title,
    text,
    html: htmlOf(content),
    ...(date !== undefined && { icalEvent: invitation() }),
    messageId: `<${eventId}@${sender.address.split('@').at(-1)}>`,
    date: new Date(requestedAt),
    // Keeps automatic replies, such as holiday messages, from being sent.
    headers: { 'Auto-Submitted': 'auto-generated' },
  })
  return { eventId, from: sender.address, to, content: await composer.compile().build() }
}
