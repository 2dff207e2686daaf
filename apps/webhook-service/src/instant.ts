const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/

/** Whether a text is a time in UTC, ISO 8601. */
export const isInstant = (text: string | undefined): boolean =>
  INSTANT.test(text ?? '') && !Number.isNaN(Date.parse(text!))
