/** The media types of imports that the API's description lists, with their formats. */
export const IMPORT_TYPES = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' } as const

export type ImportFormat = (typeof IMPORT_TYPES)[keyof typeof IMPORT_TYPES]

/**
 * All media types that an import may have. Browsers on Windows name the type of a CSV file after the program
 * that opens the file.
 */
const FORMATS: Record<string, ImportFormat> = {
  ...IMPORT_TYPES,
  'application/csv': 'csv',
  'application/x-csv': 'csv',
  'text/x-csv': 'csv',
  'text/comma-separated-values': 'csv',
  'text/x-comma-separated-values': 'csv',
  'text/tab-separated-values': 'csv',
  'application/vnd.ms-excel': 'csv',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/x-jsonl': 'ndjson',
  'application/jsonlines': 'ndjson',
  'application/x-jsonlines': 'ndjson',
}

export const READ_TYPES = Object.keys(FORMATS)

/** Returns the import format for a Content-Type. Returns undefined if an import may not have this type. */
export const findFormat = (contentType: string): ImportFormat | undefined =>
  FORMATS[contentType.split(';')[0]!.trim().toLowerCase()]
