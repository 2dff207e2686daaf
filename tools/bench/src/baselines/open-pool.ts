import pg from 'pg'

/** Microseconds stay in text, as the interface has them; ids are numbers. */
const PARSERS: Record<number, (text: string) => unknown> = {
  [pg.types.builtins.INT8]: Number,
  [pg.types.builtins.JSON]: (text) => text,
  [pg.types.builtins.TIMESTAMPTZ]: (text) => {
    const [date, time] = text.slice(0, -3).split(' ')
    const [seconds, fraction = ''] = time!.split('.')
    return `${date}T${seconds}.${fraction.padEnd(6, '0')}Z`
  },
}

/** A pool of as many connections as leads-service has by default; `settings` as `postgres -c` takes them. */
export function openPool(url: string, settings = ''): pg.Pool {
  return new pg.Pool({
    connectionString: url,
    max: 10,
    options: `-c TimeZone=UTC ${settings}`,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        PARSERS[oid] ?? pg.types.getTypeParser(oid, format as 'text'),
    },
  })
}
