import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { Field, type FieldErrors, Options } from './form'
import { LAST_MINUTE } from './format'
import { useQuery } from './pager'

/** A query parameter of a list: with options a choice, else a text or a moment. */
export interface Filter {
  name: string
  label: string
  options?: [value: string, text: string][]
  /** An instant in the address, the reader's own time in the field. */
  isMoment?: boolean
  /** The choice of none. */
  none?: string
  /** Shown when asked for. */
  isRare?: boolean
}

const MINUTE_MS = 60_000

const localMinute = (instant: string) => {
  const date = new Date(instant)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)
}

interface FiltersProps {
  filters: Filter[]
  errors?: FieldErrors
}

/** A form whose fields are the filters in the address. A choice filters at once, a text when it is sent. */
export const Filters = ({ filters, errors = {} }: FiltersProps) => {
  const [query, changed] = useQuery()
  const [, navigate] = useLocation()
  const form = useRef<HTMLFormElement>(null)
  // Another address means other values. What the reader types in between stays.
  useEffect(() => {
    for (const { name, isMoment } of filters) {
      const field = form.current!.elements.namedItem(name) as HTMLInputElement | HTMLSelectElement
      const value = query.get(name) ?? ''
      field.value = isMoment ? localMinute(value) : value
    }
  }, [String(query)])
  const apply = () => {
    const fields = new FormData(form.current!)
    const values = filters.map(({ name, isMoment }) => {
      const value = String(fields.get(name)).trim()
      return [name, isMoment && value ? new Date(value).toISOString() : value]
    })
    navigate(changed(Object.fromEntries(values)))
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    apply()
  }
  const unknown = Object.keys(errors).filter((field) => filters.every(({ name }) => name !== field))
  const none = Object.fromEntries(filters.map(({ name }) => [name, '']))
  const rare = filters.filter(({ isRare }) => isRare)
  const field = ({ name, label, options, none: unfiltered = 'All', isMoment }: Filter) => (
    <Field key={name} name={name} label={label} errors={errors}>
      {(attributes) =>
        options ? (
          <select {...attributes} onChange={apply}>
            <Options options={[['', unfiltered], ...options]} chosen={query.get(name)} />
          </select>
        ) : (
          <input
            {...attributes}
            {...(isMoment ? { type: 'datetime-local', max: LAST_MINUTE } : { type: 'text' })}
            autocomplete="off"
            spellcheck={false}
          />
        )
      }
    </Field>
  )
  return (
    <search>
      <form ref={form} class="card padded" onSubmit={submit}>
        <div class="fields">
          {filters.filter(({ isRare }) => !isRare).map(field)}
          <button type="submit">Filter</button>
          {filters.some(({ name }) => query.get(name)) && (
            <button type="button" class="quiet" onClick={() => navigate(changed(none))}>
              Clear
            </button>
          )}
        </div>
        {unknown.map((field) => (
          <p key={field} class="error" role="alert">
            {errors[field]!.join(' ')}
          </p>
        ))}
        {rare.length > 0 && (
          <details open={rare.some(({ name }) => query.get(name))}>
            <summary>More filters</summary>
            <div class="fields">{rare.map(field)}</div>
          </details>
        )}
      </form>
    </search>
  )
}
