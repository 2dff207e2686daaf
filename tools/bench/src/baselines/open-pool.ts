import pg from 'pg'

/** Parses ids as numbers, keeps JSON as text, and formats times with microseconds, as the API does. */
const PARSERS: Record<number, (text: string) => unknown> = {
  [pg.types.builtins.INT8]: Number,
  [pg.types.builtins.JSON]: (text) => text,
  [pg.types.builtins.TIMESTAMPTZ]: (text) => {
    const [date, time] = text.slice(0, -3).split(' ')
    const [seconds, fraction = ''] = time!.split('.')
    return `${date}T${seconds}.${fraction.padEnd(6, '0')}Z`
  },
}

/**
 * Creates a pool of 10 connections, the default of leads-service. `settings` are options of `postgres` (`-c
 * name=value`).
 */
export const openPool = (url: string, settings = ''): pg.Pool =>
  new pg.Pool({
    connectionString: url,
    max: 10,
    options: `-c TimeZone=UTC ${settings}`,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        PARSERS[oid] ?? pg.types.getTypeParser(oid, format as 'text'),
    },
  })
