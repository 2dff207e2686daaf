/** What a message says. A row without a value is left out. */
export interface Content {
  title: string
  greeting: string
  opening: string
  rows: [label: string, value: string][]
}

/** An instant as people of a time zone write it, with the zone. */
export const timeIn = (timeZone: string, date: string): string => {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone })
  return `${format.format(new Date(date))} (${timeZone})`
}
