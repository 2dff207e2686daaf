import { type NotificationRequested, oneLine } from '@leadwire/contracts'
import ical, { ICalAttendeeStatus, ICalCalendarMethod } from 'ical-generator'
import MailComposer from 'nodemailer/lib/mail-composer'
import MimeNode from 'nodemailer/lib/mime-node'
import type { Sender } from './mail-settings'
import { contentOf, htmlOf, SUBJECTS, textOf } from './message-content'

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
    ...{ summary, description: text },
    organizer: { name: calendarName(from.name || event.accountName), email: from.address },
    attendees: [
      {
        ...{ name: calendarName(event.userName), email: to },
        ...{ rsvp: true, status: ICalAttendeeStatus.NEEDSACTION },
      },
    ],
  })
  return calendar.toString()
}

/**
 * The message of a notification: plain text and HTML, and an invitation to an appointment or callback. Its Message-ID is made of
 * the event's id, so that it is the same on every attempt.
 */
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
  const composer = new MailComposer({
    from: sender,
    to: { name: userName, address: to },
    subject: title,
    text,
    html: htmlOf(content),
    ...(date !== undefined && {
      icalEvent: {
        method: 'REQUEST',
        content: invitationOf(event, { from: sender, to, summary: title, text }),
      },
    }),
    messageId: `<${eventId}@${sender.address.split('@').at(-1)}>`,
    date: new Date(requestedAt),
    // Keeps automatic replies, such as holiday messages, from being sent.
    headers: { 'Auto-Submitted': 'auto-generated' },
  })
  return { eventId, from: sender.address, to, content: await composer.compile().build() }
}
