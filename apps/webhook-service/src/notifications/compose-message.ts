import { type NotificationRequested, oneLine } from '@leadwire/contracts'
import ical, { ICalAttendeeStatus, ICalCalendarMethod } from 'ical-generator'
import MailComposer from 'nodemailer/lib/mail-composer'
import MimeNode from 'nodemailer/lib/mime-node'
import { failureContent } from './failure-content'
import type { Sender } from './mail-settings'
import { type Content, timeIn } from './message-content'

/** What a user is told of leads, and for how many minutes an invitation to it asks. */
const SUBJECTS: Record<string, { title: string; what: string; minutes: number }> = {
  assigned: { title: 'Lead', what: 'a lead', minutes: 0 },
  appointment: { title: 'Appointment', what: 'an appointment', minutes: 60 },
  callback: { title: 'Callback', what: 'a callback', minutes: 15 },
}

/** A message as a mail server takes it. */
export interface Message {
  eventId: string
  from: string
  to: string
  /** With its headers. */
  content: Buffer
}

// RFC 5545 has no way to write a quotation mark in a name.
const calendarName = (name: string): string => oneLine(name).replaceAll('"', "'")

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

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

const contentOf = (event: NotificationRequested, timeZone: string): Content => {
  const { failure } = event
  const content = failure ? failureContent(event, failure, timeZone) : leadContent(event, timeZone)
  // A line break would be a row of its own.
  const rows = content.rows.map(([label, value]): [string, string] => [label, oneLine(value)])
  const { title, greeting, opening } = content
  return {
    ...{ title: oneLine(title), greeting: oneLine(greeting), opening: oneLine(opening) },
    rows: rows.filter(([, value]) => value !== ''),
  }
}

const textOf = ({ greeting, opening, rows }: Content): string =>
  [greeting, '', opening, '', ...rows.map(([label, value]) => `${`${label}:`.padEnd(11)}${value}`), ''].join(
    '\n',
  )

const htmlOf = ({ greeting, opening, rows }: Content): string => {
  const cells = rows.map(
    ([label, value]) => `<tr><th align="left">${label}</th><td>${escapeHtml(value)}</td></tr>`,
  )
  return `<!doctype html>
<html lang="en">
<body>
<p>${escapeHtml(greeting)}</p>
<p>${escapeHtml(opening)}</p>
<table cellpadding="4">
${cells.join('\n')}
</table>
</body>
</html>
`
}

/** The invitation to an appointment or callback: RFC 5545 and 5546, its instants in UTC. */
const invitationOf = (
  event: NotificationRequested,
  { from, to, summary, text }: { from: Sender; to: string; summary: string; text: string },
): string => {
  const start = new Date(event.date!)
  const calendar = ical({ method: ICalCalendarMethod.REQUEST, prodId: '//Leadwire//Leadwire//EN' })
  calendar.createEvent({
    id: `${event.eventId}@leadwire`,
    stamp: new Date(event.requestedAt),
    start,
    end: new Date(start.getTime() + SUBJECTS[event.subject]!.minutes * 60_000),
    summary,
    description: text,
    organizer: { name: calendarName(from.name || event.accountName), email: from.address },
    attendees: [
      {
        name: calendarName(event.userName),
        email: to,
        rsvp: true,
        status: ICalAttendeeStatus.NEEDSACTION,
      },
    ],
  })
  return calendar.toString()
}

/**
 * The message of a notification: plain text and HTML, and for an appointment or a callback an invitation. Its Message-ID is
 * made of the event's id, so that it is the same each time.
 */
export const composeMessage = async (
  event: NotificationRequested,
  { from, timeZone }: { from: Sender; timeZone: string },
): Promise<Message> => {
  const { eventId, userName, userEmail, requestedAt, date } = event
  const said = contentOf(event, timeZone)
  const { title } = said
  const text = textOf(said)
  // As mail writes them, with domains in ASCII: calendars take another spelling for another person.
  const envelope = new MimeNode().setHeader({ from: from.address, to: userEmail }).getEnvelope()
  const [sender, to] = [{ name: from.name, address: String(envelope.from) }, envelope.to[0]!]
  const composer = new MailComposer({
    from: sender,
    to: { name: userName, address: to },
    subject: title,
    text,
    html: htmlOf(said),
    ...(date !== undefined && {
      icalEvent: {
        method: 'REQUEST',
        content: invitationOf(event, { from: sender, to, summary: title, text }),
      },
    }),
    messageId: `<${eventId}@${sender.address.split('@').at(-1)}>`,
    date: new Date(requestedAt),
    // Nobody's holiday message answers it.
    headers: { 'Auto-Submitted': 'auto-generated' },
  })
  return { eventId, from: sender.address, to, content: await composer.compile().build() }
}
