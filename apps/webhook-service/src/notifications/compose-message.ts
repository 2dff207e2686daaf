import { type NotificationRequested, oneLine } from '@leadwire/contracts'
import ical, { ICalAttendeeStatus, ICalCalendarMethod } from 'ical-generator'
import MailComposer from 'nodemailer/lib/mail-composer'
import MimeNode from 'nodemailer/lib/mime-node'
import type { Sender } from './mail-settings'

interface Content {
  title: string
  greeting: string
  opening: string
  rows: [label: string, value: string][]
}

/** What a user is notified of, and how many minutes an invitation to it takes. */
const SUBJECTS: Record<string, { title: string; what: string; minutes: number }> = {
  assigned: { title: 'Lead', what: 'a lead', minutes: 0 },
  appointment: { title: 'Appointment', what: 'an appointment', minutes: 60 },
  callback: { title: 'Callback', what: 'a callback', minutes: 15 },
}

/** Waiting deliveries are counted up to here; a message shows no more. */
export const MAX_COUNT = 10_000

const timeIn = (timeZone: string, date: string): string => {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone })
  return `${format.format(new Date(date))} (${timeZone})`
}

const leadContent = (event: NotificationRequested, timeZone: string): Content => {
  const { title, what } = SUBJECTS[event.subject]!
  return {
    title: `${title}: ${event.leadName}`,
    greeting: `Hello ${event.userName},`,
    opening: `${event.accountName} has ${what} for you.`,
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

/** The invitation to an appointment or callback: RFC 5545 and 5546, its instants in UTC. */
const invitationOf = (
  event: NotificationRequested,
  { from, to, summary, text }: { from: Sender; to: string; summary: string; text: string },
): string => {
  const start = new Date(event.date!)
  const calendar = ical({ method: ICalCalendarMethod.REQUEST, prodId: '//Leadwire//Leadwire//EN' })
  const attendee = { name: calendarName(event.userName), email: to }
  calendar.createEvent({
    id: `${event.eventId}@leadwire`,
    stamp: new Date(event.requestedAt),
    start,
    end: new Date(start.getTime() + SUBJECTS[event.subject]!.minutes * 60_000),
    ...{ summary, description: text },
    organizer: { name: calendarName(from.name || event.accountName), email: from.address },
    attendees: [{ ...attendee, rsvp: true, status: ICalAttendeeStatus.NEEDSACTION }],
  })
  return calendar.toString()
}

/** Text, HTML, and an invitation to an appointment or callback. The Message-ID is of the event: the same on every attempt. */
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
  const invitation = () => invitationOf(event, { from: sender, to, summary: title, text })
  const composer = new MailComposer({
    from: sender,
    to: { name: userName, address: to },
    subject: title,
    text,
    html: htmlOf(content),
    ...(date !== undefined && { icalEvent: { method: 'REQUEST', content: invitation() } }),
    messageId: `<${eventId}@${sender.address.split('@').at(-1)}>`,
    date: new Date(requestedAt),
    // Keeps automatic replies, such as holiday messages, from being sent.
    headers: { 'Auto-Submitted': 'auto-generated' },
  })
  return { eventId, from: sender.address, to, content: await composer.compile().build() }
}
