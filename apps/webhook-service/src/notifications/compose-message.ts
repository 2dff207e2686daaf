import { type NotificationRequested, oneLine, SCHEDULED_MINUTES } from '@leadwire/contracts'
import ical, { ICalAttendeeStatus, ICalCalendarMethod, ICalEventStatus } from 'ical-generator'
import MailComposer from 'nodemailer/lib/mail-composer'
import MimeNode from 'nodemailer/lib/mime-node'
import type { Sender } from './mail-settings'

/** The subject of a digest: a message that lists the messages beyond the hourly limit. */
export const DIGEST = 'digest'

/** The messages that a digest lists. */
export interface DigestEntries {
  entries: NotificationRequested[]
  /** Whether there are more messages than `entries`. */
  more: boolean
}

interface Content {
  title: string
  greeting: string
  opening: string
  /** A separate line after the opening. */
  link?: string | undefined
  rows: [label: string, value: string][]
  /** The paragraphs at the end. */
  notes?: string[]
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
  'appointment.due': { title: 'Reminder of an appointment', opening: 'reminds you of an appointment' },
  'callback.due': { title: 'Reminder of a callback', opening: 'reminds you of a callback' },
}

/**
 * Returns whether a message belongs to an invitation. All messages about appointments and callbacks do,
 * except reminders.
 */
export const isInvitation = ({ subject, date }: NotificationRequested): boolean =>
  date !== undefined && !subject.endsWith('.due')

/** A message shows larger numbers of waiting deliveries as "more than" this number. */
export const MAX_COUNT = 10_000

const formatTime = (timeZone: string, date: string): string => {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone })
  return `${format.format(new Date(date))} (${timeZone})`
}

/** Adds the name of the lead to a title. An erased lead has no name. */
const nameLead = (title: string, { leadName }: NotificationRequested): string =>
  leadName === '' ? title : `${title}: ${leadName}`

const buildLeadContent = (event: NotificationRequested, timeZone: string): Content => {
  const { title, opening } = SUBJECTS[event.subject]!
  return {
    title: nameLead(title, event),
    greeting: `Hello ${event.userName},`,
    opening: `${event.accountName} ${opening}.`,
    rows: [
      ['When', event.date === undefined ? '' : formatTime(timeZone, event.date)],
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

const describeEntry = ({ subject, date, leadReference }: NotificationRequested, timeZone: string): string => {
  const what = subject === 'assigned' ? 'Lead assigned' : SUBJECTS[subject]!.title
  const when = date === undefined ? '' : `, ${formatTime(timeZone, date)}`
  return `${what}${when}, lead ${leadReference}`
}

/**
 * Builds the content of a digest. Entries do not contain the names of leads, because an erasure could not
 * find these names in a digest.
 */
const buildDigestContent = (
  { userName, accountName }: NotificationRequested,
  { entries, more }: DigestEntries,
  timeZone: string,
): Content => {
  const rows = entries.map((entry, index): [string, string] => [
    `${index + 1}`,
    describeEntry(entry, timeZone),
  ])
  const rest: [string, string][] = more ? [['…', 'and more']] : []
  return {
    title: `Summary of notifications (${entries.length}${more ? '+' : ''})`,
    greeting: `Hello ${userName},`,
    opening: `${accountName} had more notifications for you in an hour than the limit allows. These were not sent separately:`,
    rows: [...rows, ...rest],
  }
}

const buildFailureContent = (
  accountName: string,
  { address, since, error = '', waiting, disabledAt }: NonNullable<NotificationRequested['failure']>,
  timeZone: string,
): Content => {
  const count = waiting > MAX_COUNT ? `more than ${MAX_COUNT}` : waiting
  const disabled =
    disabledAt === undefined
      ? 'no, attempts continue'
      : `on ${formatTime(timeZone, disabledAt)}, unless an attempt succeeds before then`
  return {
    title: `Webhook endpoint fails: ${address}`,
    greeting: 'Hello,',
    opening: `For 24 hours every attempt to deliver a webhook of ${accountName} to ${address} has failed.`,
    rows: [
      ['Endpoint', address],
      ['Since', formatTime(timeZone, since)],
      ['Error', error],
      ['Waiting', `${count} deliveries`],
      ['Disabled', disabled],
    ],
  }
}

/** Builds the content of a message with a link (`link`) with which its user signs in. */
const buildSignInContent = (
  { subject, userName, accountName, linkExpiresAt }: NotificationRequested,
  link: string,
  timeZone: string,
): Content => {
  const greeting = `Hello ${userName},`
  const end = formatTime(timeZone, linkExpiresAt!)
  if (subject === 'invitation')
    return {
      title: `${accountName} invites you to Leadwire`,
      greeting,
      opening: `${accountName} invites you to Leadwire. Use this link to sign in:`,
      link,
      rows: [],
      notes: [`The link works once, until ${end}.`, 'If you do not expect this invitation, ignore it.'],
    }
  return {
    title: 'Sign in to Leadwire',
    greeting,
    opening: `Use this link to sign in to Leadwire for ${accountName}.`,
    link,
    rows: [],
    notes: [
      `The link works once, until ${end}, and only in the browser that asked for it.`,
      'If you did not ask for this e-mail, ignore it.',
    ],
  }
}

interface MessageOptions {
  from: Sender
  timeZone: string
  /** The entries of the message if it is a digest. */
  digest?: DigestEntries | undefined
  /** The link of the message if its user signs in with it. */
  link?: string | undefined
}

const selectContent = (
  event: NotificationRequested,
  { timeZone, digest, link }: Omit<MessageOptions, 'from'>,
): Content => {
  const { failure, accountName } = event
  if (failure) return buildFailureContent(accountName, failure, timeZone)
  if (digest) return buildDigestContent(event, digest, timeZone)
  if (link !== undefined) return buildSignInContent(event, link, timeZone)
  return buildLeadContent(event, timeZone)
}

/**
 * Builds the content of a message without empty rows. Removes line breaks, which would look like further
 * rows.
 */
const buildContent = (event: NotificationRequested, options: Omit<MessageOptions, 'from'>): Content => {
  const content = selectContent(event, options)
  const { title, greeting, opening, link, notes = [] } = content
  const rows = content.rows.map(([label, value]): [string, string] => [label, oneLine(value)])
  return {
    title: oneLine(title),
    greeting: oneLine(greeting),
    opening: oneLine(opening),
    link,
    rows: rows.filter(([, value]) => value !== ''),
    notes: notes.map(oneLine),
  }
}

const renderText = ({ greeting, opening, link = '', rows, notes = [] }: Content): string => {
  const lines = rows.map(([label, value]) => `${label}:`.padEnd(11) + value)
  const paragraphs = [greeting, opening, link, lines.join('\n'), ...notes]
  return `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const renderParagraph = (text: string): string => `<p>${escapeHtml(text)}</p>`

const renderLink = (link: string): string => `<p><a href="${escapeHtml(link)}">${escapeHtml(link)}</a></p>`

const renderTable = (rows: Content['rows']): string => `<table cellpadding="4">
${rows.map(([label, value]) => `<tr><th align="left">${label}</th><td>${escapeHtml(value)}</td></tr>`).join('\n')}
</table>`

const renderHtml = ({ greeting, opening, link, rows, notes = [] }: Content): string => {
  const parts = [renderParagraph(greeting), renderParagraph(opening)]
  if (link !== undefined) parts.push(renderLink(link))
  if (rows.length > 0) parts.push(renderTable(rows))
  parts.push(...notes.map(renderParagraph))
  return `<!doctype html>
<html lang="en">
<body>
${parts.join('\n')}
</body>
</html>
`
}

export interface Message {
  eventId: string
  from: string
  to: string
  content: Buffer
}

/** Renders a name for a calendar. RFC 5545 does not allow quotation marks in names. */
const renderCalendarName = (name: string): string => oneLine(name).replaceAll('"', "'")

/**
 * Renders the calendar entry of an appointment or callback: an invitation, its change or its cancellation
 * (RFC 5545 and 5546). Times are in UTC.
 */
const renderInvitation = (
  event: NotificationRequested,
  { from, to, text }: { from: Sender; to: string; text: string },
): { method: string; content: string } => {
  // The subject starts with `appointment` or `callback`.
  const entry = event.subject.split('.')[0]!
  const isCancelled = event.subject.endsWith('.cancelled')
  const method = isCancelled ? ICalCalendarMethod.CANCEL : ICalCalendarMethod.REQUEST
  const start = new Date(event.date!)
  const calendar = ical({ method, prodId: '//Leadwire//Leadwire//EN' })
  const attendee = { name: renderCalendarName(event.userName), email: to }
  calendar.createEvent({
    id: `${event.invitationId ?? event.eventId}@leadwire`,
    sequence: event.sequence,
    ...(isCancelled && { status: ICalEventStatus.CANCELLED }),
    stamp: new Date(event.requestedAt),
    start,
    end: new Date(start.getTime() + SCHEDULED_MINUTES[entry]! * 60_000),
    // Uses the title of the first message, so that later messages do not rename the entry.
    summary: oneLine(nameLead(SUBJECTS[entry]!.title, event)),
    description: text,
    organizer: { name: renderCalendarName(from.name || event.accountName), email: from.address },
    attendees: [{ ...attendee, rsvp: !isCancelled, status: ICalAttendeeStatus.NEEDSACTION }],
  })
  return { method, content: calendar.toString() }
}

/**
 * Composes a message as text and HTML. A message about an appointment or callback has a calendar entry,
 * unless it is a reminder. The Message-ID contains the id of the event, so the Message-ID is the same for
 * every attempt.
 */
export const composeMessage = async (
  event: NotificationRequested,
  { from, timeZone, digest, link }: MessageOptions,
): Promise<Message> => {
  const { eventId, userName, userEmail, requestedAt } = event
  const content = buildContent(event, { timeZone, digest, link })
  const { title } = content
  const text = renderText(content)
  // Uses the spelling that an e-mail address has in e-mail headers, usually with a domain in ASCII. Calendars
  // would treat another spelling of the e-mail address as another person.
  const envelope = new MimeNode().setHeader({ from: from.address, to: userEmail }).getEnvelope()
  const sender = { name: from.name, address: String(envelope.from) }
  const to = envelope.to[0]!
  const invitation = () => renderInvitation(event, { from: sender, to, text })
  const composer = new MailComposer({
    from: sender,
    to: { name: userName, address: to },
    subject: title,
    text,
    html: renderHtml(content),
    ...(isInvitation(event) && { icalEvent: invitation() }),
    messageId: `<${eventId}@${sender.address.split('@').at(-1)}>`,
    date: new Date(requestedAt),
    // Prevents automatic replies, such as out-of-office messages.
    headers: { 'Auto-Submitted': 'auto-generated' },
  })
  return { eventId, from: sender.address, to, content: await composer.compile().build() }
}
