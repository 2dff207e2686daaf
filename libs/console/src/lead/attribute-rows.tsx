import { useState } from 'preact/hooks'
import type { FieldErrors } from '../parts/form'

/** Reads the attributes of a form. Ignores rows without a name. undefined if there are none. */
export const readAttributes = (fields: FormData): Record<string, string> | undefined => {
  const values = fields.getAll('attribute-value').map(String)
  const named = fields
    .getAll('attribute-name')
    .map((name, index): [string, string] => [String(name).trim(), values[index]!.trim()])
    .filter(([name]) => name !== '')
  return named.length > 0 ? Object.fromEntries(named) : undefined
}

const listErrors = (errors: FieldErrors): string[] =>
  Object.entries(errors)
    .filter(([field]) => field === 'attributes' || field.startsWith('attributes.'))
    .flatMap(([, texts]) => texts)

/** Rows for attributes of a new lead, each with a name and a value. */
export const AttributeRows = ({ errors }: { errors: FieldErrors }) => {
  const [rows, setRows] = useState<number[]>([])
  const shown = listErrors(errors)
  return (
    <fieldset aria-describedby={shown.length > 0 ? 'attributes-error' : undefined}>
      <legend>Attributes</legend>
      {rows.map((row) => (
        <div key={row} class="attribute">
          <input
            name="attribute-name"
            class="mono"
            aria-label={`Name of attribute ${row + 1}`}
            placeholder="utm_campaign"
            autocomplete="off"
            spellcheck={false}
          />
          <input
            name="attribute-value"
            aria-label={`Value of attribute ${row + 1}`}
            placeholder="spring"
            autocomplete="off"
          />
          <button
            type="button"
            class="close"
            aria-label={`Remove attribute ${row + 1}`}
            onClick={() => setRows(rows.filter((one) => one !== row))}
          >
            ×
          </button>
        </div>
      ))}
      {shown.length > 0 && (
        <p class="error" id="attributes-error" role="alert">
          {shown.join(' ')}
        </p>
      )}
      <div class="actions">
        <button type="button" class="quiet" onClick={() => setRows([...rows, (rows.at(-1) ?? -1) + 1])}>
          Add an attribute
        </button>
      </div>
    </fieldset>
  )
}
