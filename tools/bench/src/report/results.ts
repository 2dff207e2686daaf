import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Options } from '../options'
import { renderCells } from './figure'
import type { Findings } from './report'

const INTRODUCTION =
  'Written by `npm run bench`. [docs/performance.md](../docs/performance.md) describes each row and what dominates it.'

const HEADINGS = ['What', 'Measured', 'Rounds', 'Floor', 'Aim', 'Reached', 'Of what']

/** Writes results.md. `machine` describes the hardware and the settings on which the figures depend. */
export const writeResults = async (
  options: Options,
  machine: string[],
  findings: Findings,
): Promise<void> => {
  const { rounds, seconds, quick, profile, out } = options
  const { figures, failures, notes } = findings
  const sections = ['# Benchmark']
  if (quick) sections.push('**A quick run, which only shows that everything works. Do not use its figures.**')
  else if (profile) sections.push('**A run under the profiler. Its figures are too high.**')
  sections.push(
    `${INTRODUCTION} A figure is the median of ${rounds} interleaved rounds, most of them ${seconds} s long.`,
    renderList(machine),
    renderTable(HEADINGS, figures.map(renderCells)),
  )
  if (failures.length > 0)
    sections.push(
      '## Not measured',
      renderList(failures.map(({ scenario, message }) => `${scenario}: ${message}`)),
    )
  if (notes.length > 0) sections.push('## Also seen', renderList(notes))
  await mkdir(out, { recursive: true })
  await writeFile(join(out, 'results.md'), `${sections.join('\n\n')}\n`)
}

const renderList = (lines: string[]) => lines.map((line) => `- ${line}`).join('\n')

const renderTable = (headings: string[], rows: string[][]) =>
  [headings, headings.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
