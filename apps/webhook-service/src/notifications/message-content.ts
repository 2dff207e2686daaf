import { type NotificationRequested, oneLine } from '@leadwire/contracts'

/** What a message says. A row without a value is left out. */
export interface Content {
  title: string
  greeting: string
  opening: string
  rows: [label: string, value: string][]
}

/** What a user is notified of, and how many minutes an invitation to it takes. */
export const SUBJECTS: Record<string, { title: string; what: string; minutes: number }> = {
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

/** The message to an account's contact about a webhook endpoint that only fails. */
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
    ['Waiting', waiting > MAX_COUNT ? `more than ${MAX_COUNT} deliveries` : `${waiting} deliveries`],
    [
      'Disabled',
      disabledAt === undefined
        ? 'no: attempts go on'
        : `on ${timeIn(timeZone, disabledAt)}, unless an attempt succeeds before`,
    ],
  ],
})

/** Each text on one line: a line break in a value would look like another row. */
export const contentOf = (event: NotificationRequested, timeZone: string): Content => {
  const { failure, accountName } = event
  const content = failure ? failureContent(accountName, failure, timeZone) : leadContent(event, timeZone)
  const { title, greeting, opening } = content
  const rows = content.rows.map(([label, value]): [string, string] => [label, oneLine(value)])
  return {
    ...{ title: oneLine(title), greeting: oneLine(greeting), opening: oneLine(opening) },
    rows: rows.filter(([, value]) => value !== ''),
  }
}

export const textOf = ({ greeting, opening, rows }: Content): string =>
  [greeting, '', opening, '', ...rows.map(([label, value]) => `${`${label}:`.padEnd(11)}${value}`), ''].join(
    '\n',
  )

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

export const htmlOf = ({ greeting, opening, rows }: Content): string => `<!doctype html>
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
