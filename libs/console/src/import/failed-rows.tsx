import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { downloadFailedRows, type FailedRow, type Import } from '../imports'
import { Action } from '../parts/action'
import { Field, useForm } from '../parts/form'
import { formatCount, formatNumber } from '../parts/format'
import { showNotice } from '../parts/notices'
import { saveFile } from '../parts/save-file'
import {
  type CorrectedRow,
  type Edits,
  findCorrection,
  importCorrectedRows,
  listChanges,
  listInvalidColumns,
  listRowErrors,
  readText,
} from './correct-rows'

/** The edits of all failed rows of an import, by the number of the row. */
export type Corrections = Map<number, CorrectedRow>

interface FailedRowsProps {
  shown: Import
  rows: FailedRow[]
  corrections: Corrections
  onEdited: (corrections: Corrections) => void
  mayCorrect: boolean
}

interface RowProps extends Pick<FailedRowsProps, 'shown' | 'mayCorrect'> {
  row: FailedRow
  edits: Edits
  onInput: (column: string, text: string) => void
}

/** A column of a row: a field, or a text if the user may not correct the row. */
const Value = ({
  row,
  column,
  errors,
  edits,
  onInput,
  mayCorrect,
}: Omit<RowProps, 'shown'> & { column: string; errors: string[] }) => {
  const text = edits[column] ?? readText(row, column)
  const name = `row-${row.row}-${column}`
  if (!mayCorrect) {
    return (
      <div class="field">
        <span class="faint">{column}</span>
        <span class="wrap">{text || <span class="none">empty</span>}</span>
        {errors.length > 0 && <span class="error">{errors.join(' ')}</span>}
      </div>
    )
  }
  return (
    <Field name={name} label={column} errors={{ [name]: errors }}>
      {(attributes) => (
        <input
          type="text"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => onInput(column, event.currentTarget.value)}
          {...attributes}
        />
      )}
    </Field>
  )
}

/** The columns without errors, which are rendered only when they are opened. */
const OtherValues = ({
  title,
  columns,
  isOpen,
  render,
}: {
  title: string
  columns: string[]
  isOpen: boolean
  render: (column: string) => ComponentChildren
}) => {
  const [wasOpened, setOpened] = useState(isOpen)
  if (columns.length === 0) return null
  return (
    <details open={isOpen} onToggle={() => setOpened(true)}>
      <summary>{`${title} (${columns.length})`}</summary>
      {wasOpened && <div class="fields">{columns.map((column) => render(column))}</div>}
    </details>
  )
}

const Row = ({ shown, row, edits, ...given }: RowProps) => {
  const invalid = listInvalidColumns(row, shown.format)
  const rowErrors = listRowErrors(row)
  const columns = Object.keys(row.values)
  const isStored = columns.length > 0
  const correction = findCorrection(shown.id, row)
  const render = (column: string, errors: string[] = []) => (
    <Value key={column} {...given} row={row} edits={edits} column={column} errors={errors} />
  )
  return (
    <li class="card padded" aria-label={`Row ${row.row}`}>
      <h3>{`Row ${formatNumber(row.row)}`}</h3>
      {correction && (
        <p>
          Corrected in <Link href={`/imports/${correction}`}>{`import ${correction}`}</Link>.
        </p>
      )}
      {rowErrors.length > 0 && <p class="error">{rowErrors.join(' ')}</p>}
      {isStored ? (
        <>
          {invalid.length > 0 && (
            <div class="fields">{invalid.map(({ column, errors }) => render(column, errors))}</div>
          )}
          <OtherValues
            title={invalid.length > 0 ? 'Other values' : 'Values'}
            columns={columns.filter((column) => invalid.every((one) => one.column !== column))}
            isOpen={rowErrors.length > 0}
            render={render}
          />
        </>
      ) : (
        <>
          {invalid.map(({ column, errors }) => (
            <p key={column}>
              {`${column}: `}
              <span class="error">{errors.join(' ')}</span>
            </p>
          ))}
          <p class="faint">The values of this row cannot be shown. Correct the row in the file.</p>
        </>
      )}
    </li>
  )
}

/** The failed rows of an import. A user who may import can correct their values and import them again. */
export const FailedRows = ({ shown, rows, corrections, onEdited, mayCorrect }: FailedRowsProps) => {
  const [, navigate] = useLocation()
  const edit = (row: FailedRow, column: string, text: string) => {
    const edits = { ...corrections.get(row.row)?.edits, [column]: text }
    onEdited(new Map(corrections).set(row.row, { row, edits }))
  }
  const corrected = [...corrections.values()]
    .map(({ row, edits }) => ({ row, edits: listChanges({ row, edits }) }))
    .filter(({ edits }) => Object.keys(edits).length > 0)
    .toSorted((a, b) => a.row.row - b.row.row)
  const send = async () => {
    const { id } = await importCorrectedRows(shown, corrected)
    onEdited(new Map())
    navigate(`/imports/${id}`)
  }
  const { onSubmit, failure, isBusy } = useForm(send, [])
  const form = useRef<HTMLFormElement>(null)
  // The user came to correct the rows, and can start to type at once.
  useEffect(() => form.current!.querySelector<HTMLElement>('input[aria-invalid]')?.focus(), [])
  return (
    <>
      <div class="heading">
        <h2>Failed rows</h2>
        <Action
          label="Download failed rows"
          quiet
          run={async () => {
            await saveFile(`failed-rows-${shown.id}.${shown.format}`, () => downloadFailedRows(shown.id))
            showNotice('Downloaded.')
          }}
        />
      </div>
      <p class="faint">
        {mayCorrect
          ? 'Correct the values and import the corrected rows, or download the rows with the reasons, correct them and import the file. Row 1 is the first row below the header.'
          : 'The download has the rows with the reasons. Row 1 is the first row below the header.'}
      </p>
      <form ref={form} class="part" aria-busy={isBusy} onSubmit={onSubmit}>
        <ol class="failed-rows">
          {rows.map((row) => (
            <Row
              key={row.row}
              shown={shown}
              row={row}
              edits={corrections.get(row.row)?.edits ?? {}}
              onInput={(column, text) => edit(row, column, text)}
              mayCorrect={mayCorrect}
            />
          ))}
        </ol>
        {failure}
        {mayCorrect && corrected.length > 0 && (
          <div class="actions">
            <button type="submit">{`Import ${formatCount(corrected.length, 'corrected row')}`}</button>
          </div>
        )}
      </form>
    </>
  )
}
