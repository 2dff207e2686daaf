import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Options } from '../options'
import { cellsOf } from './figure'
import type { Findings } from './report'

const INTRODUCTION = `Written by \`npm run bench\`. What each row is, and what dominates it, is in [docs/performance.md](../docs/performance.md).`

/** Writes results.md. */
export const writeResults = async (
  options: Options,
  { machine, findings }: { machine: string[]; findings: Findings },
): Promise<void> => {
  const { rounds, seconds, quick, profile, out } = options
  const [warning] = [
    quick && '**A quick run, to see that everything works: no figures to go by.**',
    profile && '**A run under the profiler: its figures are too high.**',
  ].filter(Boolean)
  const sections = [
    '# Benchmark',
    warning,
    `${INTRODUCTION} Each figure is the median of ${rounds} interleaved rounds of ${seconds} s.`,
    list(machine),
    table(
      ['What', 'Measured', 'Rounds', 'Floor', 'Aim', 'Reached', 'Of what'],
      findings.figures.map(cellsOf),
    ),
    findings.failures.length > 0 && '## Not measured',
    list(findings.failures.map(({ scenario, message }) => `${scenario}: ${message}`)),
    findings.notes.length > 0 && '## Also seen',
    list(findings.notes),
  ]
  await mkdir(out, { recursive: true })
  await writeFile(join(out, 'results.md'), `${sections.filter(Boolean).join('\n\n')}\n`)
}

const list = (lines: string[]) => lines.map((line) => `- ${line}`).join('\n')

const table = (heads: string[], rows: string[][]) =>
  [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
