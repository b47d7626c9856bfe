package compile

import (
	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// build is the graph under construction: what its functions read, in the order in
// which it is derived. Each field is set once, before anything reads it.
type build struct {
	Options
	in inputs

	// gateway: what each Gateway wants.
	configs     derive.Collection[config]
	classOf     derive.Collection[class]
	wishes      derive.Collection[gateway]
	managed     derive.Collection[bool]
	sections    derive.Collection[section] // of Gateways, by "gateway|listener"
	defaults    derive.Index[gateway]      // default Gateways, by scope
	selectors   derive.Collection[string]
	selected    derive.Collection[struct{}] // by "namespace|selector"
	permissions derive.Index[string]

	// sets: which ListenerSets attach, and every Gateway with the listeners of its own.
	setWishes     derive.Collection[listenerSet]
	hostings      derive.Collection[hosting]
	admissions    derive.Collection[admission]
	setsByGateway derive.Index[admission]
	merged        derive.Collection[gateway]
	setSections   derive.Collection[section] // by "gateway|set|listener"
	owners        derive.Collection[section] // by "gateway|port/family/host name"

	// ports: what of it each Gateway gets.
	claimsByPort       derive.Index[claim]
	losses             derive.Collection[loss]
	usesBySecret       derive.Index[certificateUse]
	pairsBySecret      derive.Collection[pair]
	pairStates         derive.Collection[pairState]
	served             derive.Collection[served]
	setParts           derive.Collection[part] // by "gateway|set"
	residentsByClass   derive.Index[served]
	residentsByConfig  derive.Index[served]
	servedByUse        derive.Index[served]
	tableSpecs         derive.Collection[tableSpec] // by TableID
	boundByKey         derive.Index[bound]
	listenersBySection derive.Index[bound]
	certificates       derive.Collection[model.Certificate] // of Gateways and their listeners

	// routes: where routes attach and what they forward to.
	ports             derive.Collection[servicePort] // by "Kind namespace/name|port"
	externalNames     derive.Collection[bool]
	servicesByLabel   derive.Index[*core_v1.Service]
	externals         derive.Collection[externalBackend]
	choicesByService  derive.Index[choice]
	policiesByTarget  derive.Index[*gateway_v1.BackendTLSPolicy]
	policyStates      derive.Collection[tlsPolicy]
	trafficByTarget   derive.Index[*gateway_xv1alpha1.XBackendTrafficPolicy] // by "Kind namespace/name" of a backend
	trafficStates     derive.Collection[trafficPolicy]
	webAttachments    derive.Collection[attachment] // by "Kind namespace/name"
	rules             derive.Collection[rules]      // likewise
	acceptable        derive.Collection[bool]
	membersBySection  derive.Index[membership]
	placesByHost      derive.Index[place]
	exactByTable      derive.Index[model.VirtualHost] // those with an exact name
	sharesByRoute     derive.Index[share]
	sharesByUse       derive.Index[share]
	sharesByCluster   derive.Index[share]
	streamAttachments derive.Collection[attachment] // by "Kind namespace/name"
	streamRules       derive.Collection[streamRule] // likewise
	streamPlacesByKey derive.Index[streamPlace]
	streamsBySection  derive.Index[membership]
	streams           derive.Collection[stream] // by "gateway|listener|domain"
	streamsByUse      derive.Index[stream]
	streamsByCluster  derive.Index[stream]

	// telemetry: what each Gateway tells of its requests.
	telemetryStates  derive.Collection[telemetryPolicy]
	telemetryTargets derive.Index[telemetryTarget] // by Gateway
	tracings         derive.Collection[tracing]    // by Gateway
	tracingsByUse    derive.Index[tracing]

	// entrances: what the requests of listeners with filters pass before they are routed.
	entrances      derive.Collection[entrance] // by "gateway|listener"
	entrancesByUse derive.Index[entrance]

	// backends: the clusters of each Gateway and their endpoints.
	httpByGateway    derive.Index[used]
	streamsByGateway derive.Index[used]
	clustersByID     derive.Index[used]
	slicesByService  derive.Index[*discovery_v1.EndpointSlice]
	sourcesBySlice   derive.Index[string]

	clustersByShown      derive.Index[used] // of XBackends, by "gateway|certificate"
	certificatesBySecret derive.Index[model.Certificate]
}

// Build adds the compilation to a graph.
func Build(g *derive.Graph, o Options) Outputs {
	b := &build{Options: o, in: readInputs(g)}
	var m model.Collections
	b.deriveGateways(g)
	b.deriveSets(g)
	b.derivePorts(g, &m)
	b.deriveBackends(g)
	b.deriveEntrances(g)
	b.deriveHTTP(g, &m)
	b.deriveStreams(g, &m)
	b.deriveTelemetry(g, &m)
	b.deriveClusters(g, &m)
	return Outputs{Model: m, Findings: b.deriveFindings(g)}
}

// deriveGateways reads what each Gateway wants, and what namespaces and grants allow.
func (b *build) deriveGateways(g *derive.Graph) {
	b.configs = derive.Map(g, "settings", b.in.configs, checkConfig)
	b.classOf = derive.Map(g, "class", b.in.classes, b.readClass)
	b.wishes = derive.Map(g, "gateway", b.in.gateways, b.readGateway)
	b.managed = derive.Map(g, "managed", b.wishes, func(_ *derive.Ctx, _ string, w gateway) (bool, bool) { return w.Managed, true })
	b.defaults = derive.Group(g, "default gateways by scope", b.wishes, defaultScopes)
	b.setWishes = derive.Map(g, "listener set", b.in.sets, readSet)

	texts := derive.Group(g, "selectors by text", derive.Union(g, "any selector",
		derive.Part[string]{Prefix: kindGateway + " ", Of: derive.Expand(g, "selector", b.wishes, selectors)},
		derive.Part[string]{Prefix: kindListenerSet + " ", Of: derive.Expand(g, "set selector", b.setWishes, setSelectors)}), itself)
	b.selectors = derive.Reduce(g, "distinct selector", texts, always)
	b.selected = derive.Expand(g, "selection", b.in.namespaces, b.selections)
	b.permissions = derive.Group(g, "permissions", derive.Expand(g, "permission", b.in.grants, grantItems), itself)
}

// deriveSets attaches ListenerSets to Gateways. Which of their listeners count
// depends on certificates, as one without any keeps nothing from others.
func (b *build) deriveSets(g *derive.Graph) {
	b.hostings = derive.Map(g, "hosting", b.wishes, readHosting)
	b.admissions = derive.Map(g, "admission", b.setWishes, b.admitSet)
	b.setsByGateway = derive.Group(g, "sets by gateway", b.admissions, setGateway)

	b.usesBySecret = derive.Group(g, "uses by secret", derive.Union(g, "certificate uses",
		derive.Part[certificateUse]{Prefix: kindGateway + " ", Of: derive.Expand(g, "certificate use", b.wishes, b.certificateUses)},
		derive.Part[certificateUse]{Prefix: kindListenerSet + " ", Of: derive.Expand(g, "set certificate use", b.setWishes, b.setCertificateUses)},
		derive.Part[certificateUse]{Prefix: kindXBackend + " ", Of: derive.Expand(g, "external certificate use", b.in.externals, b.externalCertificateUses)}), useSecret)
	b.pairsBySecret = derive.Reduce(g, "pair", b.usesBySecret, b.checkSecret)
	b.pairStates = derive.Map(g, "pair state", b.pairsBySecret, stateOfPair)

	b.merged = derive.Map(g, "merged gateway", b.wishes, b.merge)
	b.sections = derive.Expand(g, "section", b.merged, sectionItems)
	b.setSections = derive.Expand(g, "set section", b.merged, setSectionItems)
	b.owners = derive.Expand(g, "owner", b.merged, ownerItems)
}

// derivePorts settles which ports and certificates each Gateway serves with.
func (b *build) derivePorts(g *derive.Graph, m *model.Collections) {
	b.claimsByPort = derive.Group(g, "claims by port", derive.Expand(g, "claim", b.merged, portClaims), claimPort)
	b.losses = derive.Expand(g, "loss", derive.Reduce(g, "contest", b.claimsByPort, b.contest), lossItems)

	b.served = derive.Map(g, "served", b.merged, b.serve)
	b.setParts = derive.Expand(g, "set part", b.served, setPartItems)
	b.residentsByClass = derive.Group(g, "residents by class", b.served, servedClass)
	b.residentsByConfig = derive.Group(g, "residents by config", b.served, servedConfigs)
	b.servedByUse = derive.Group(g, "served by use", b.served, servedUses)
	specs := derive.Group(g, "table specs by id", derive.Expand(g, "table spec", b.served, tableSpecs), tableSpecID)
	b.tableSpecs = derive.Reduce(g, "distinct table", specs, func(c *derive.Ctx, id string) (tableSpec, bool) {
		return derive.First(c, specs, id, 1)[0].Value, true
	})
	bounds := derive.Expand(g, "bound", b.served, boundItems)
	b.boundByKey = derive.Group(g, "bound by key", bounds, boundKey)
	b.listenersBySection = derive.Group(g, "bound by section", bounds, boundSection)

	b.certificates = derive.Expand(g, "certificate", b.served, b.certificateItems)
}

// deriveBackends reads what routes can forward to.
func (b *build) deriveBackends(g *derive.Graph) {
	b.ports = derive.Union(g, "port",
		derive.Part[servicePort]{Prefix: kindService + " ", Of: derive.Expand(g, "service port", b.in.services, servicePorts)},
		derive.Part[servicePort]{Prefix: kindServiceImport + " ", Of: derive.Expand(g, "import port", b.in.imports, importPorts)})
	b.externalNames = derive.Map(g, "external name", b.in.services, isExternal)
	b.servicesByLabel = derive.Group(g, "services by label", b.in.services, serviceLabels)
	b.externals = derive.Map(g, "external backend", b.in.externals, b.readExternal)
	b.choicesByService = derive.Group(g, "choices by service", derive.Expand(g, "choice", b.externals, b.choices), choiceService)
	b.policiesByTarget = derive.Group(g, "policies by target", b.in.policies, policyTargets)
	b.trafficByTarget = derive.Group(g, "traffic policies by target", b.in.traffic, trafficTargets)
	b.trafficStates = derive.Map(g, "traffic policy", b.in.traffic, b.readTraffic)
	b.policyStates = derive.Map(g, "tls policy", b.in.policies, b.readPolicy)
	b.slicesByService = derive.Group(g, "slices by service", b.in.slices, sliceService)
}

// deriveEntrances finds the services that listeners ask.
func (b *build) deriveEntrances(g *derive.Graph) {
	b.entrances = derive.Map(g, "entrance", derive.Expand(g, "entrance wish", b.served, entranceItems), b.entrance)
	b.entrancesByUse = derive.Group(g, "entrances by use", b.entrances, func(_ string, e entrance) []string { return e.Uses })
}

// deriveHTTP attaches HTTPRoutes and GRPCRoutes and puts their matches in order, host by host.
func (b *build) deriveHTTP(g *derive.Graph, m *model.Collections) {
	b.webAttachments = derive.Union(g, "web attachment",
		derive.Part[attachment]{Prefix: grpcIdent, Of: derive.Map(g, "grpc attachment", b.in.grpcRoutes, b.attachGRPC)},
		derive.Part[attachment]{Prefix: httpIdent, Of: derive.Map(g, "attachment", b.in.httpRoutes, b.attachHTTP)})
	b.rules = derive.Union(g, "web rules",
		derive.Part[rules]{Prefix: grpcIdent, Of: derive.Map(g, "grpc rules", b.in.grpcRoutes, b.readGRPC)},
		derive.Part[rules]{Prefix: httpIdent, Of: derive.Map(g, "rules", b.in.httpRoutes, b.readRules)})
	b.acceptable = derive.Map(g, "acceptable", b.rules, func(_ *derive.Ctx, _ string, r rules) (bool, bool) { return r.accepted(), true })
	b.membersBySection = derive.Group(g, "members by section", derive.Expand(g, "membership", b.webAttachments, b.memberships), memberSection)
	b.placesByHost = derive.Group(g, "places by host", derive.Expand(g, "place", b.webAttachments, places), placeHost)

	hosts := derive.Reduce(g, "host", b.placesByHost, b.host)
	virtual := derive.Map(g, "virtual host", hosts, b.virtualHost, derive.EqualFunc(sameVirtual))
	m.Hosts = derive.Merge(g, "model host", virtual, derive.Expand(g, "blank host", b.tableSpecs, b.blanks), derive.EqualFunc(sameVirtual))
	b.exactByTable = derive.Group(g, "exact hosts by table", m.Hosts, exactTable)
	m.Tables = derive.Map(g, "table", b.tableSpecs, b.table)

	shares := derive.Expand(g, "share", hosts, shareItems)
	b.sharesByRoute = derive.Group(g, "shares by route", shares, shareRoute)
	b.sharesByUse = derive.Group(g, "shares by use", shares, shareUses)
	b.sharesByCluster = derive.Group(g, "shares by cluster", shares, shareClusters)
}

// deriveStreams gives each TCP and UDP listener, and each server name of TLS listeners, its route.
func (b *build) deriveStreams(g *derive.Graph, m *model.Collections) {
	b.streamAttachments = derive.Union(g, "stream attachment",
		derive.Part[attachment]{Prefix: tcpIdent, Of: derive.Map(g, "tcp attachment", b.in.tcpRoutes, b.attachTCP)},
		derive.Part[attachment]{Prefix: tlsIdent, Of: derive.Map(g, "tls attachment", b.in.tlsRoutes, b.attachTLS)},
		derive.Part[attachment]{Prefix: udpIdent, Of: derive.Map(g, "udp attachment", b.in.udpRoutes, b.attachUDP)})
	b.streamRules = derive.Union(g, "stream rule",
		derive.Part[streamRule]{Prefix: tcpIdent, Of: derive.Map(g, "tcp rule", b.in.tcpRoutes, b.readTCP)},
		derive.Part[streamRule]{Prefix: tlsIdent, Of: derive.Map(g, "tls rule", b.in.tlsRoutes, b.readTLS)},
		derive.Part[streamRule]{Prefix: udpIdent, Of: derive.Map(g, "udp rule", b.in.udpRoutes, b.readUDP)})
	b.streamsBySection = derive.Group(g, "streams by section", derive.Expand(g, "stream membership", b.streamAttachments,
		func(_ *derive.Ctx, _ string, a attachment) []derive.Item[membership] { return membershipsOf(a) }), memberSection)
	b.streamPlacesByKey = derive.Group(g, "stream places", derive.Expand(g, "stream place", b.streamAttachments, streamPlaces), streamPlaceKey)
	b.streams = derive.Reduce(g, "stream", b.streamPlacesByKey, b.stream)
	b.streamsByUse = derive.Group(g, "streams by use", b.streams, streamUses)
	b.streamsByCluster = derive.Group(g, "streams by cluster", b.streams, streamClusters)
	m.Listeners = derive.Reduce(g, "listener", b.boundByKey, b.listener)
}

// deriveClusters finds the distinct backends that serve, and where they are.
func (b *build) deriveClusters(g *derive.Graph, m *model.Collections) {
	b.httpByGateway = derive.Group(g, "http clusters by gateway", derive.Reduce(g, "http cluster", b.sharesByCluster, b.usedByHTTP), usedGateway)
	b.streamsByGateway = derive.Group(g, "stream clusters by gateway", derive.Reduce(g, "stream cluster", b.streamsByCluster, b.usedByStreams), usedGateway)
	clusters := derive.Expand(g, "cluster", b.served, b.clusterItems, derive.EqualFunc(equalUsed))
	m.Clusters = derive.Project(g, "model cluster", clusters, cluster)

	b.clustersByShown = derive.Group(g, "clusters by shown", clusters, usedShown)
	m.Certificates = derive.Merge(g, "model certificate", b.certificates, derive.Reduce(g, "shown", b.clustersByShown, b.shown))
	b.certificatesBySecret = derive.Group(g, "certificates by secret", m.Certificates, certificateSecret)

	b.clustersByID = derive.Group(g, "clusters by id", clusters, usedService)
	sets := derive.Reduce(g, "endpoints", b.clustersByID, b.endpoints)
	m.Endpoints = derive.Project(g, "model endpoints", sets, endpointsOf)
	b.sourcesBySlice = derive.Group(g, "sources by slice", derive.Expand(g, "endpoint source", sets, sourceItems), itself)
}

// usedBySomething reports whether something that serves rests on an object, by
// "Kind ns/name", on a permission, or on a selection.
func (b *build) usedBySomething(c *derive.Ctx, key string) bool {
	return derive.Exists(c, b.sharesByUse, key) || derive.Exists(c, b.streamsByUse, key) || derive.Exists(c, b.servedByUse, key) ||
		derive.Exists(c, b.tracingsByUse, key) || derive.Exists(c, b.entrancesByUse, key)
}
