import { useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { Field, type FieldErrors, Options } from './form'
import { LAST_MINUTE } from './format'
import { useQuery } from './pager'

/** A query parameter of a list. With `options` the field is a select, otherwise a text or a date. */
export interface Filter {
  name: string
  label: string
  options?: [value: string, text: string][]
  /** Whether the filter is a date and time: UTC in the URL, local time in the field. */
  isMoment?: boolean
  /** The label of the option that selects no value. */
  none?: string
  /** Shown only under "More filters". */
  isRare?: boolean
}

const MINUTE_MS = 60_000

const formatLocalMinute = (instant: string) => {
  const date = new Date(instant)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)
}

interface FiltersProps {
  filters: Filter[]
  errors?: FieldErrors
}

/**
 * A form for the filters in the page's URL. A select takes effect at once. A text takes effect when the user
 * submits the form.
 */
export const Filters = ({ filters, errors = {} }: FiltersProps) => {
  const [query, changed] = useQuery()
  const [, navigate] = useLocation()
  const form = useRef<HTMLFormElement>(null)
  // Sets the fields only when the URL changes, so that a refresh keeps the user's input. Sets them before the
  // next input event. Otherwise a text that the user enters right after selecting an option would be lost.
  useLayoutEffect(() => {
    for (const { name, isMoment } of filters) {
      const field = form.current!.elements.namedItem(name) as HTMLInputElement | HTMLSelectElement
      const value = query.get(name) ?? ''
      field.value = isMoment ? formatLocalMinute(value) : value
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
          <button type="submit" class="quiet">
            Filter
          </button>
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
