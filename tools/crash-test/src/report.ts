import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Report } from './crash-test'

const table = (rows: [string, number | string][]): string[] => [
  '| What | Count |',
  '|---|---:|',
  ...rows.map(([what, count]) => `| ${what} | ${count} |`),
]

/** The report in Markdown. */
export const render = ({ verdict, hazards, ...report }: Report): string => {
  const explained = [...verdict.duplicates, ...verdict.unrecorded]
  const longest = Math.max(0, ...hazards.map(({ from, until }) => until - from))
  return [
    '# Crash test',
    '',
    `Seed ${report.seed}, ${report.minutes} minutes from ${report.startedAt}.`,
    '',
    report.errors.length === 0 ? 'Nothing was lost.' : `**FieldErrors:** ${report.errors.join('; ')}.`,
    '',
    ...table([
      [
        'processes killed, or lost with their machine',
        hazards.filter(({ what }) => what !== 'frozen').length,
      ],
      ['processes frozen', hazards.filter(({ what }) => what === 'frozen').length],
      ['longest until all was ready again, ms', longest],
      ['leads accepted', verdict.accepted],
      [
        'creates that had to be asked again',
        Object.values(report.failures).reduce((sum, count) => sum + count, 0),
      ],
      ['leads lost', verdict.leadsLost.length],
      ['leads created without a response', verdict.leadsTwice.length],
      ['events lost', verdict.eventsLost.length],
      ['webhooks lost', verdict.webhooksLost.length],
      ['files stored', report.files.stored],
      ['files lost', report.files.lost.length],
      ['duplicates at the receiver', verdict.duplicates.length],
      ['duplicates without an explanation', verdict.duplicates.filter(({ because }) => !because).length],
      ['attempts that are not recorded', verdict.unrecorded.length],
      ['of these without an explanation', verdict.unrecorded.filter(({ because }) => !because).length],
      ['deliveries whose record of attempts is wrong', verdict.attemptsWrong.length],
      ['events whose number is wrong', verdict.numbersWrong.length],
      ['findings of `leadwire reconcile --full`', report.reconciled.unexplained_count],
    ]),
    '',
    ...(explained.length > 0 ? ['| Event | Attempt | Because |', '|---|---|---|'] : []),
    ...explained.map(({ eventId, at, because }) => `| ${eventId} | ${at} | ${because ?? '**nothing**'} |`),
    '',
    '| Process | What | At | Ready again after, ms |',
    '|---|---|---|---:|',
    ...hazards.map(
      ({ process, what, from, until }) =>
        `| ${process} | ${what} | ${new Date(from).toISOString()} | ${until - from} |`,
    ),
    '',
  ].join('\n')
}

/** Writes the report for programs and for readers. */
export const writeReport = async (out: string, report: Report): Promise<void> => {
  await mkdir(out, { recursive: true })
  await writeFile(join(out, 'crash-test.json'), `${JSON.stringify(report, null, 2)}\n`)
  await writeFile(join(out, 'crash-test.md'), render(report))
}
