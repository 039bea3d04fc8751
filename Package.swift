// swift-tools-version: 6.2
import PackageDescription

/// Language rules that every Swift target of the package keeps (CONTRIBUTING.md, "House rules").
let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "peal",
    products: [
        .library(name: "Peal", targets: ["Peal"]),
        .library(name: "PealHub", targets: ["PealHub"]),
        .executable(name: "peal", targets: ["PealCommand"]),
    ],
    traits: [
        .trait(name: "PostgreSQL", description: "Hub store on PostgreSQL through libpq."),
        .trait(
            name: "PlantedBugs", description: "Faults that the simulator must find (docs/simulation.md). Never ship it."
        ),
        .default(enabledTraits: ["PostgreSQL"]),
    ],
    targets: [
        // Level 0: system libraries, and the C targets.
        .systemLibrary(name: "CPealSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPealPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CPealHTTP", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CPealCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CPealCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibWebSockets", pkgConfig: "libwebsockets", providers: [.apt(["libwebsockets-dev"])]),
        // Its pkg-config file has flags that the package manager refuses, and the library itself brings what it needs.
        .target(
            name: "CPealTerminal",
            linkerSettings: [
                .linkedLibrary("ncursesw", .when(platforms: [.linux])),
                .linkedLibrary("ncurses", .when(platforms: [.macOS])),
            ]),
        // libcrypto too: libwebsockets brings it, but does not link it for whoever asks what it says of a certificate.
        // libssl likewise, to exchange a server's certificate.
        .target(
            name: "CPealWebSocket", dependencies: ["CLibWebSockets", "CPealCrypto"],
            linkerSettings: [.linkedLibrary("ssl")]),

        // Level 1: rules, SQLite, WebSocket. No Foundation.
        .target(name: "PealModel", swiftSettings: swiftSettings),
        .target(name: "PealSQLite", dependencies: ["CPealSQLite"], swiftSettings: swiftSettings),
        .target(
            name: "PealPostgres",
            dependencies: [.target(name: "CPealPostgres", condition: .when(traits: ["PostgreSQL"]))],
            swiftSettings: swiftSettings),
        .target(name: "PealWebSocket", dependencies: ["CPealWebSocket"], swiftSettings: swiftSettings),

        // Level 2: the two ends.
        .target(
            name: "PealReplica", dependencies: ["PealModel", "PealSQLite"],
            resources: [.embedInCode("Schema")], swiftSettings: swiftSettings),
        .target(
            name: "PealHub",
            dependencies: [
                "PealModel", "PealSQLite", "PealWebSocket", "CPealHTTP", "CPealCrypto", "CPealCurl",
                .target(name: "PealPostgres", condition: .when(traits: ["PostgreSQL"])),
            ],
            resources: [.embedInCode("Schema"), .embedInCode("SchemaPostgres")], swiftSettings: swiftSettings),

        // Level 3 and 4: the client library and the command.
        .target(
            name: "Peal", dependencies: ["CPealCrypto", "PealModel", "PealSQLite", "PealReplica", "PealWebSocket"],
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "PealCommand", dependencies: ["Peal", "PealReplica", "PealModel", "PealHub", "CPealTerminal"],
            swiftSettings: swiftSettings),

        // As an app would have them: no settings of ours.
        .executableTarget(name: "ConsoleInbox", dependencies: ["Peal"], path: "Examples/ConsoleInbox"),
        .executableTarget(
            name: "NotificationService", dependencies: ["Peal"], path: "Examples/NotificationService",
            exclude: ["notification-service.service"]),
        .executableTarget(name: "Kiosk", dependencies: ["Peal"], path: "Examples/Kiosk"),

        // Level 5: tools.
        .target(name: "CPealBench", dependencies: ["CPealSQLite"], path: "tools/peal-bench-c"),
        .executableTarget(
            name: "peal-bench",
            dependencies: [
                "CPealBench", "Peal", "PealHub", "PealModel", "PealReplica", "PealWebSocket", "PostgresServer",
            ],
            path: "tools/peal-bench", exclude: ["fold.py"], swiftSettings: swiftSettings),
        .target(
            name: "Simulation", dependencies: ["PealHub", "PealHubMemory", "PealModel", "PealReplica", "PealSQLite"],
            path: "tools/Simulation",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "peal-sim", dependencies: ["Simulation", "PealModel"], path: "tools/peal-sim",
            swiftSettings: swiftSettings),

        .executableTarget(
            name: "peal-load", dependencies: ["Peal", "PealModel", "PealReplica"], path: "tools/peal-load",
            swiftSettings: swiftSettings),
        // A server for tests and measurements; empty without the trait.
        .target(name: "PostgresServer", path: "tools/PostgresServer", swiftSettings: swiftSettings),
        .target(
            name: "PealHubMemory", dependencies: ["PealHub", "PealModel"], path: "tools/PealHubMemory",
            swiftSettings: swiftSettings),

        .target(
            name: "Fuzzing", dependencies: ["CPealSQLite", "PealHub", "PealHubMemory", "PealModel", "PealReplica"],
            path: "tools/Fuzzing", swiftSettings: swiftSettings),
        .target(name: "CPealFaultVFS", dependencies: ["CPealSQLite"], path: "tools/CPealFaultVFS"),
        .target(
            name: "Faults", dependencies: ["CPealFaultVFS", "PealHub", "PealModel", "PealReplica", "PealSQLite"],
            path: "tools/Faults", swiftSettings: swiftSettings),
        .executableTarget(
            name: "peal-faults", dependencies: ["Faults"], path: "tools/peal-faults", swiftSettings: swiftSettings),

        .testTarget(name: "PealModelTests", dependencies: ["PealModel"], swiftSettings: swiftSettings),
        .testTarget(name: "PealSQLiteTests", dependencies: ["PealSQLite"], swiftSettings: swiftSettings),
        .testTarget(
            name: "PealPostgresTests", dependencies: ["PealPostgres", "PostgresServer"], swiftSettings: swiftSettings),
        .testTarget(
            name: "PealWebSocketTests", dependencies: ["PealWebSocket"], exclude: ["peers"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PealReplicaTests", dependencies: ["PealReplica", "PealModel", "PealSQLite"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PealHubTests",
            dependencies: [
                "PealHub", "PealHubMemory", "PealModel", "PealPostgres", "PealSQLite", "PealWebSocket",
                "PostgresServer",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PealTests",
            dependencies: [
                "Peal", "PealHub", "PealModel", "PealReplica", "PealSQLite", "ConsoleInbox", "NotificationService",
                "Kiosk",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "FaultsTests", dependencies: ["Faults", "PealModel", "PealReplica", "PealSQLite"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PealCommandTests",
            dependencies: [
                "Peal", "PealCommand", "PealHub", "PealModel", "PealReplica", "PealSQLite", "PostgresServer",
                "peal-load",
            ],
            exclude: ["Golden"], swiftSettings: swiftSettings),
        .testTarget(name: "FuzzingTests", dependencies: ["Fuzzing"], swiftSettings: swiftSettings),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["Simulation", "PealHub", "PealHubMemory", "PealModel", "PealReplica", "PealSQLite"],
            swiftSettings: swiftSettings),
    ]
)

// libFuzzer brings its own `main`, so its executable is in the package only where `tools/fuzz` asks for it.
if Context.environment["PEAL_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "peal-fuzz", dependencies: ["Fuzzing"], path: "tools/peal-fuzz", swiftSettings: swiftSettings))
}
