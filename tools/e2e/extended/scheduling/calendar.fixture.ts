import ICAL from 'ical.js'
import { sync, type VEvent } from 'node-ical'

export interface CalendarFacts {
  uid: string
  method: string | null
  sequence: number
  status: string | null
  start: string
  minutes: number
  summary: string
  attendee: string | null
}

const byUid = (one: CalendarFacts, other: CalendarFacts) => (one.uid < other.uid ? -1 : 1)

const factsByIcalJs = (text: string): CalendarFacts[] => {
  const calendar = new ICAL.Component(ICAL.parse(text))
  return calendar.getAllSubcomponents('vevent').map((component) => {
    const { uid, sequence, startDate, duration, summary, attendees } = new ICAL.Event(component)
    return {
      uid,
      sequence,
      summary,
      minutes: duration.toSeconds() / 60,
      method: calendar.getFirstPropertyValue('method') as string | null,
      status: component.getFirstPropertyValue('status') as string | null,
      start: startDate.toJSDate().toISOString(),
      attendee: attendees[0] ? String(attendees[0].getFirstValue()).replace(/^mailto:/i, '') : null,
    }
  })
}

const readText = (value: unknown): string =>
  typeof value === 'string' ? value : String((value as { val: unknown }).val)

const factsByNodeIcal = (text: string): CalendarFacts[] =>
  Object.values(sync.parseICS(text))
    .filter((component) => component?.type === 'VEVENT')
    .map((component) => {
      const { uid, sequence, status, method, start, end, summary, attendee } = component as VEvent
      return {
        uid,
        method: method ?? null,
        sequence: Number(sequence),
        status: status ?? null,
        start: start.toISOString(),
        minutes: (end.getTime() - start.getTime()) / 60_000,
        summary: readText(summary),
        attendee: attendee ? readText(attendee).replace(/^mailto:/i, '') : null,
      }
    })

/** Parses a calendar with two independent iCalendar libraries, and expects the same entries from both. */
export const calendarFacts = (text: string): CalendarFacts[] => {
  // RFC 5545, 3.1: lines end with CRLF and have at most 75 octets.
  for (const line of text.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75)
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  const facts = factsByIcalJs(text).toSorted(byUid)
  expect(factsByNodeIcal(text).toSorted(byUid)).toEqual(facts)
  return facts
}
