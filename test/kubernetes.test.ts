import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { fulfilmentSchema } from '@oncehook/fulfilment/settings'
import { gatewaySchema } from '@oncehook/gateway/start/settings'
import { describe, expect, it, type TestContext } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { requireTool } from '../scripts/tools/find-tool.ts'

const repository = resolve(import.meta.dirname, '..')
const folder = join(repository, 'docker/kubernetes')
const files = globSync('*.yaml', { cwd: folder }).filter((name) => name !== 'kustomization.yaml')
// This file is for the Gateway API. Neither a plain cluster nor the validator has its schemas.
const ROUTE = 'http-route.yaml'

const VERSIONS = ['1.30.0', '1.37.0']

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  // biome-ignore lint/suspicious/noExplicitAny: the validator has checked the shape; the tests read it as the cluster does.
  readonly spec: any
  readonly data?: Readonly<Record<string, string>>
}

const manifests = files.flatMap((file) =>
  parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => document.toJS() as Manifest),
)
const ofKind = (kind: string): Manifest[] => manifests.filter((manifest) => manifest.kind === kind)
const named = (kind: string, name: string): Manifest =>
  ofKind(kind).find((manifest) => manifest.metadata.name === name) ?? expect.unreachable(`${kind} ${name}`)

describe('the Kubernetes manifests', () => {
  // It contains the schemas of every version that it knows, so it needs no cluster and no network.
  const validate = async (context: TestContext, version: string, paths: readonly string[]) => {
    const packages = await requireTool('kubernetes-validate', context)
    const env = { ...process.env, PYTHONPATH: packages }
    return spawnSync(
      join(packages, 'bin/kubernetes-validate'),
      ['--strict', '--kubernetes-version', version, ...paths],
      { env, encoding: 'utf8' },
    )
  }

  it.for(VERSIONS)('are what the schemas of version %s allow, to the last property', async (version, context) => {
    const paths = files.filter((file) => file !== ROUTE).map((file) => join(folder, file))
    const { status, stdout, stderr } = await validate(context, version, paths)
    expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, said: '' })
    expect(stdout.match(/^INFO .+ passed /gm)).toHaveLength(
      manifests.filter(({ kind }) => kind !== 'Gateway' && kind !== 'HTTPRoute').length,
    )
  })

  it('are refused when a property is misspelt', async (context) => {
    const path = mkdtempSync(join(tmpdir(), 'oncehook-kubernetes-'))
    context.onTestFinished(() => rmSync(path, { recursive: true }))
    const broken = join(path, 'gateway.yaml')
    writeFileSync(
      broken,
      readFileSync(join(folder, 'gateway.yaml'), 'utf8').replace('readinessProbe:', 'readynessProbe:'),
    )
    expect((await validate(context, '1.37.0', [broken])).stdout).toMatch(/^ERROR .+'readynessProbe' was unexpected/m)
  })

  it('are all listed for kustomize', () => {
    const [kustomization] = parseAllDocuments(readFileSync(join(folder, 'kustomization.yaml'), 'utf8'))
    expect(kustomization?.toJS().resources.toSorted()).toEqual(files.toSorted())
  })

  it.each([
    ['gateway', gatewaySchema],
    ['fulfilment', fulfilmentSchema],
  ])('use only settings that the %s knows, and mounted files for secrets', (name, schema) => {
    const mounts: { mountPath: string }[] = containerOf(name).volumeMounts
    for (const [setting, value] of Object.entries(named('ConfigMap', name).data ?? {})) {
      expect(Object.keys(schema.shape)).toContain(setting.replace(/_FILE$/, ''))
      if (!setting.endsWith('_FILE')) continue
      expect(mounts.map(({ mountPath }) => mountPath)).toContain(value.slice(0, value.lastIndexOf('/')))
    }
    const given = Object.keys(named('ConfigMap', name).data ?? {}).map((setting) => setting.replace(/_FILE$/, ''))
    const needed = Object.entries<{ safeParse(value: undefined): { success: boolean } }>(schema.shape)
      .filter(([, setting]) => !setting.safeParse(undefined).success)
      .map(([setting]) => setting)
    expect(given).toEqual(expect.arrayContaining(needed))
  })

  it.each(['gateway', 'fulfilment'])(
    'run the %s without rights: no root, nothing writable, no capabilities',
    (name) => {
      const { template } = named('Deployment', name).spec
      expect(template.spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      })
      expect(containerOf(name)).toMatchObject({
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: { limits: { memory: '256Mi' } },
      })
    },
  )

  it.each(['gateway', 'fulfilment'])(
    'let a %s drain before it is killed, and keep one through a drained node',
    (name) => {
      const { spec } = named('Deployment', name)
      const pause: number = containerOf(name).lifecycle.preStop.sleep.seconds
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(pause + 10)
      expect(spec.replicas).toBeGreaterThan(named('PodDisruptionBudget', name).spec.minAvailable)
    },
  )

  it('keep taking deliveries without fulfilment: the readiness of a gateway does not depend on it', () => {
    expect(containerOf('gateway').readinessProbe.httpGet).toEqual({ path: '/healthz', port: 'public' })
  })

  it('choose pods and ports that exist', () => {
    for (const { kind, metadata, spec } of manifests) {
      const labels = selected(kind, spec)
      if (labels === undefined) continue
      const pods = ofKind('Deployment').filter(({ spec: { template } }) =>
        Object.entries(labels).every(([key, value]) => template.metadata.labels[key] === value),
      )
      expect(pods, `${kind} ${metadata.name}`).not.toEqual([])
      for (const port of targets(kind, spec)) {
        for (const pod of pods) expect(portNames(pod.metadata.name), `${kind} ${metadata.name}`).toContain(port)
      }
    }
  })

  it.each(['gateway', 'fulfilment'])('let monitoring read the metrics of the %s, and nothing else', (name) => {
    const { ingress } = named('NetworkPolicy', name).spec
    const monitoring = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }
    const rules = ingress.filter(({ from }: { from: unknown[] }) =>
      from.some((peer) => isDeepStrictEqual(peer, monitoring)),
    )
    expect(rules).toEqual([{ from: [monitoring], ports: [{ port: 'metrics' }] }])
    const { METRICS_PORT } = named('ConfigMap', name).data ?? {}
    expect(containerOf(name).ports).toContainEqual({ name: 'metrics', containerPort: Number(METRICS_PORT) })
  })

  it('let nothing out to the networks of a cluster or a cloud beside what they name', () => {
    const blocks = ofKind('NetworkPolicy')
      .flatMap(({ spec }) => spec.egress ?? [])
      .flatMap(({ to }: { to?: { ipBlock?: { except?: readonly string[] } }[] }) => to ?? [])
      .flatMap(({ ipBlock }: { ipBlock?: { except?: readonly string[] } }) => ipBlock ?? [])
    expect(blocks.length).toBeGreaterThan(1)
    // RFC 1918, RFC 6598 (where some clouds put pods and their agents), and link-local addresses.
    const inside = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16']
    for (const { except } of blocks) expect(except).toEqual(expect.arrayContaining(inside))
  })

  it('publish neither the operator API nor metrics nor fulfilment', () => {
    const { rules, parentRefs } = named('HTTPRoute', 'gateway').spec
    expect(rules.flatMap(({ backendRefs }: { backendRefs: unknown }) => backendRefs)).toEqual([
      { name: 'gateway', port: 80 },
    ])
    expect(named('Service', 'gateway').spec.ports).toEqual([{ name: 'public', port: 80, targetPort: 'public' }])
    expect(parentRefs).toEqual([{ name: 'oncehook', sectionName: 'https' }])
    const { listeners } = named('Gateway', 'oncehook').spec
    expect(listeners).toMatchObject([{ name: 'https', protocol: 'HTTPS', tls: { mode: 'Terminate' } }])
    expect(ofKind('Ingress')).toEqual([])
    expect(ofKind('Service').map(({ spec }) => spec.type ?? 'ClusterIP')).toEqual(
      ofKind('Service').map(() => 'ClusterIP'),
    )
    expect(named('NetworkPolicy', 'default-deny').spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
  })
})

function containerOf(name: string) {
  return named('Deployment', name).spec.template.spec.containers[0]
}

function portNames(deployment: string): string[] {
  return containerOf(deployment).ports.map(({ name }: { name: string }) => name)
}

function selected(kind: string, spec: Manifest['spec']): Record<string, string> | undefined {
  if (kind === 'Service') return spec.selector
  if (kind === 'PodDisruptionBudget') return spec.selector.matchLabels
  if (kind === 'NetworkPolicy') return spec.podSelector.matchLabels
  return undefined
}

function targets(kind: string, spec: Manifest['spec']): string[] {
  if (kind === 'Service') return spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort)
  if (kind !== 'NetworkPolicy') return []
  const ingress: { ports: { port: string }[] }[] = spec.ingress ?? []
  return ingress.flatMap(({ ports }) => ports.map(({ port }) => port))
}
